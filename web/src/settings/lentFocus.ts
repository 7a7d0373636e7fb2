// Gives the focus back to what opened a form, when the form is closed.
import { useEffect, useRef } from 'react';
import { focusHeading } from '../parts/focus.ts';

const nameOf = (element: Element) => element.getAttribute('aria-label') ?? element.textContent;

interface Opener {
  readonly name: string;
  readonly section: Element | null;
}

/** Only where nobody has taken it meanwhile. The button may have been drawn anew: its name is the same, or it is gone. */
function giveBack({ name, section }: Opener): void {
  if (document.activeElement !== document.body) return;
  const buttons = document.querySelectorAll<HTMLElement>('.settings button');
  [...buttons].find((button) => nameOf(button) === name)?.focus();
  focusHeading(section);
}

/** Call what it returns when a form is opened. */
export function useLentFocus(isOpen: boolean): () => void {
  const opener = useRef<Opener>(undefined);
  useEffect(() => {
    if (isOpen || opener.current === undefined) return;
    giveBack(opener.current);
    opener.current = undefined;
  }, [isOpen]);
  return () => {
    const { activeElement } = document;
    opener.current =
      activeElement instanceof HTMLButtonElement
        ? { name: nameOf(activeElement), section: activeElement.closest('.section') }
        : undefined;
  };
}

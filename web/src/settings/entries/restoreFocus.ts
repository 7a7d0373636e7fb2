// Returns the focus to the button that opened a form when the form is closed.
import { useEffect, useRef } from 'react';
import { focusHeading } from '../../components/focus.ts';

const labelOf = (element: Element) => element.getAttribute('aria-label') ?? element.textContent;

interface Opener {
  readonly label: string;
  readonly section: Element | null;
}

/** Finds the button by its name, because it may have been rendered again. */
function restoreFocus({ label, section }: Opener): void {
  if (document.activeElement !== document.body) return;
  const buttons = document.querySelectorAll<HTMLElement>('.settings button');
  [...buttons].find((button) => labelOf(button) === label)?.focus();
  focusHeading(section);
}

/** Call the returned function when a form is opened. */
export function useRestoreFocus(isOpen: boolean): () => void {
  const opener = useRef<Opener>(undefined);
  useEffect(() => {
    if (isOpen || opener.current === undefined) return;
    restoreFocus(opener.current);
    opener.current = undefined;
  }, [isOpen]);
  return () => {
    const { activeElement } = document;
    opener.current =
      activeElement instanceof HTMLButtonElement
        ? { label: labelOf(activeElement), section: activeElement.closest('.section') }
        : undefined;
  };
}

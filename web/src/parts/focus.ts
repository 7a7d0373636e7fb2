// Where the focus goes when what had it is gone: whoever uses keys goes on nearby, not from the top of the page.
import { type RefObject, useEffect, useRef } from 'react';

/** To the heading of a section, unless something else has the focus. */
export function focusHeading(section: Element | null | undefined): void {
  if (document.activeElement !== document.body || !section?.isConnected) return;
  const heading = section.querySelector<HTMLElement>('h2, h3');
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** When this part goes, and nothing else takes the focus, the heading of its section does. */
export function useFocusAfter(part: RefObject<Element | null>): void {
  useEffect(() => {
    const section = part.current?.closest('.section');
    // After all else that goes with it: a dialog gives the focus back to what opened it.
    return () => queueMicrotask(() => focusHeading(section));
  }, [part]);
}

/** For a part whose buttons make way for others. Call what it returns when one is pressed. */
export function useFocusWithin(part: RefObject<Element | null>): () => void {
  const pressed = useRef(false);
  useEffect(() => {
    if (!pressed.current) return;
    pressed.current = false;
    if (document.activeElement === document.body)
      part.current?.querySelector<HTMLElement>('input, button')?.focus();
  });
  return () => {
    pressed.current = true;
  };
}

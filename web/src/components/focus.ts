// Moves the focus when the focused element disappears, so that keyboard users do not start again at the top.
import { type RefObject, useEffect, useRef } from 'react';

/** Focuses the heading of a section, unless something else has the focus. */
export function focusHeading(section: Element | null | undefined): void {
  if (document.activeElement !== document.body || !section?.isConnected) return;
  const heading = section.querySelector<HTMLElement>('h2, h3');
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus();
}

/** Focuses the heading of the section when the component is unmounted. */
export function useFocusHeadingOnUnmount(container: RefObject<Element | null>): void {
  useEffect(() => {
    const section = container.current?.closest('.section');
    // Runs last: a dialog that is unmounted, too, first returns the focus to the element that opened it.
    return () => queueMicrotask(() => focusHeading(section));
  }, [container]);
}

/** For a component that replaces its buttons by others. Call the returned function when one is clicked. */
export function useFocusAfterSwap(container: RefObject<Element | null>): () => void {
  const clicked = useRef(false);
  useEffect(() => {
    if (!clicked.current) return;
    clicked.current = false;
    if (document.activeElement === document.body)
      container.current?.querySelector<HTMLElement>('input, button')?.focus();
  });
  return () => {
    clicked.current = true;
  };
}

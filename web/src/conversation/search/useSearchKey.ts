// Ctrl+F, or Cmd+F, opens the search of the conversation. Pressed again in it, it opens that of the browser.
import { type RefObject, useEffect } from 'react';

/** Of two conversations beside each other, the one with the focus is searched. */
function isWanted(timeline: HTMLElement): boolean {
  const own = timeline.closest('.conversation');
  return document.querySelectorAll('.conversation').length === 1 || own?.matches(':focus-within') === true;
}

export function useSearchKey(timeline: RefObject<HTMLElement | null>, open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'f' || !(event.ctrlKey || event.metaKey)) return;
      if (event.shiftKey || event.altKey || event.defaultPrevented) return;
      const element = timeline.current;
      if (element === null || !isWanted(element) || document.querySelector('dialog[open]')) return;
      if (document.activeElement?.closest('.search-bar')) return;
      event.preventDefault();
      const field = element.querySelector<HTMLInputElement>('.search-bar input');
      if (field === null) open();
      else field.select();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [timeline, open]);
}

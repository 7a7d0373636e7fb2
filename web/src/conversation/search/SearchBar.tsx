// The search in a conversation: a field above the timeline, and buttons that go from match to match.
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { IconButton } from '../../components/IconButton.tsx';
import { useTexts } from '../../texts/texts.tsx';
import { clearMarks, markTerms, termsOf } from './marks.ts';
import { useSearch } from './useSearch.ts';

interface SearchBarProps {
  readonly conversationId: string;
  readonly scroller: RefObject<HTMLElement | null>;
  /** Scrolls to the event. */
  readonly onShow: (eventId: number) => void;
  readonly onClose: () => void;
}

/** Marks the words after every render of the timeline, which replaces its elements while it is scrolled. */
function useMarks(scroller: RefObject<HTMLElement | null>, query: string): void {
  useEffect(() => {
    const list = scroller.current;
    const terms = termsOf(query);
    if (list === null || terms.length === 0) return;
    let frame: number | undefined;
    const mark = () => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        markTerms(list, terms);
      });
    };
    mark();
    const observer = new MutationObserver(mark);
    observer.observe(list, {
      subtree: true,
      childList: true,
      characterData: true,
      attributeFilter: ['class', 'open'],
    });
    return () => {
      observer.disconnect();
      if (frame !== undefined) cancelAnimationFrame(frame);
      clearMarks();
    };
  }, [scroller, query]);
}

export function SearchBar({ conversationId, scroller, onShow, onClose }: SearchBarProps) {
  const { search } = useTexts();
  const field = useRef<HTMLInputElement>(null);
  const [query, setQuery] = useState('');
  const matches = useSearch(conversationId, query);
  const [at, setAt] = useState(0);
  useMarks(scroller, query);
  useEffect(() => field.current?.focus(), []);

  // The newest match is the first one that is shown.
  useEffect(() => {
    const last = matches === undefined ? -1 : matches.events.length - 1;
    const event = matches?.events[last];
    setAt(Math.max(0, last));
    if (event !== undefined) onShow(event);
  }, [matches, onShow]);

  const count = matches?.events.length ?? 0;
  function move(by: number) {
    const next = (at + by + count) % count;
    const event = matches?.events[next];
    if (event === undefined) return;
    setAt(next);
    onShow(event);
  }

  function onKey(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Escape') onClose();
    else if (event.key === 'Enter' && count > 0) move(event.shiftKey ? 1 : -1);
    else return;
    // The shortcuts of the page come later, and ignore it then.
    event.preventDefault();
  }

  const isCurrent = matches !== undefined && matches.query === query;
  const status =
    matches === undefined || !isCurrent
      ? ''
      : matches.error !== undefined
        ? search.failed
        : count === 0
          ? search.none
          : search.position(at + 1, `${count}${matches.hasMore ? '+' : ''}`);
  return (
    <search className="search-bar">
      <input
        ref={field}
        type="search"
        aria-label={search.label}
        placeholder={search.label}
        value={query}
        maxLength={200}
        onChange={(event) => setQuery(event.target.value)}
        onKeyDown={onKey}
      />
      <span className="search-status" role="status">
        {status}
      </span>
      <IconButton icon="arrowUp" label={search.older} disabled={count === 0} onClick={() => move(-1)} />
      <IconButton icon="arrowDown" label={search.newer} disabled={count === 0} onClick={() => move(1)} />
      <IconButton icon="close" label={search.close} onClick={onClose} />
    </search>
  );
}

// The filter of the conversation list, and hooks for its timing.
import { useEffect, useReducer, useState } from 'react';
import type { ListFilter } from '../live/conversationLists.ts';
import { useDraft } from '../session/drafts.ts';

const debounceMs = 200;
const minuteMs = 60_000;
const noFilter: ListFilter = { q: '', status: '' };

/** The filter is a draft, so that it is still set when the user returns from a conversation. */
export function useListFilter() {
  const { draft: choice, change: choose } = useDraft('list', noFilter);
  return { choice, choose };
}

/** Returns the value when it has not changed for a moment, so that not every key press is a request. */
export function useDebounced<Value>(value: Value): Value {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), debounceMs);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
}

/** Keeps relative times such as "5 minutes ago" current. */
export function useRenderEveryMinute(): void {
  const [, tick] = useReducer((minutes: number) => minutes + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, minuteMs);
    return () => clearInterval(timer);
  }, []);
}

// Which conversations somebody has asked for, and the clock of the list.
import { useEffect, useReducer, useState } from 'react';
import type { ListChoice } from '../live/lists.ts';
import { useDraft } from '../session/drafts.ts';

const settleMs = 200;
const minuteMs = 60_000;
const everything: ListChoice = { q: '', status: '' };

/** Kept for the way back from a conversation. */
export function useChoice() {
  const { draft: choice, change: choose } = useDraft('list', everything);
  return { choice, choose };
}

/** The value once it has not changed for a moment: not every key is a question to the service. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMs);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Draws again every minute, for what says how long ago something was. */
export function useMinutes(): void {
  const [, tick] = useReducer((minutes: number) => minutes + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, minuteMs);
    return () => clearInterval(timer);
  }, []);
}

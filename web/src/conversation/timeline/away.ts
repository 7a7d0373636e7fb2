// Finds out what the user has not seen yet when they open a conversation, or come back to its tab.
import { useEffect, useRef, useState } from 'react';
import type { Away } from './rows.ts';

/** The newest event that this tab has shown, by conversation. The service may know of an older one only. */
const shownUpTo = new Map<string, number>();

interface Seen {
  readonly conversationId: string;
  /** What the service knows. Undefined until the conversation is loaded, null if nothing was seen. */
  readonly seenEventId: number | null | undefined;
  /** Undefined until the log is loaded. */
  readonly lastEventId: number | undefined;
}

/** Later events do not count: the user sees them arrive. */
export function useAway({ conversationId, seenEventId, lastEventId }: Seen): Away | undefined {
  const [away, setAway] = useState<Away>();
  const isOpened = useRef(false);
  const last = useRef(lastEventId);
  last.current = lastEventId;

  useEffect(() => {
    if (isOpened.current || seenEventId === undefined || lastEventId === undefined) return;
    isOpened.current = true;
    const from = Math.max(seenEventId ?? -1, shownUpTo.get(conversationId) ?? -1);
    if (from >= 0 && from < lastEventId) setAway({ from, to: lastEventId });
  }, [conversationId, seenEventId, lastEventId]);

  useEffect(() => {
    if (isOpened.current && lastEventId !== undefined && document.visibilityState === 'visible')
      shownUpTo.set(conversationId, lastEventId);
  }, [conversationId, lastEventId]);

  useEffect(() => {
    const onVisibility = () => {
      const from = shownUpTo.get(conversationId);
      const to = last.current;
      if (document.visibilityState !== 'visible' || from === undefined || to === undefined) return;
      if (from < to) setAway({ from, to });
      shownUpTo.set(conversationId, to);
    };
    document.addEventListener('visibilitychange', onVisibility);
    return () => document.removeEventListener('visibilitychange', onVisibility);
  }, [conversationId]);

  return away;
}

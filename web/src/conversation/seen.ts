// Reports to the service what the user has seen, so that the conversation is not unread on any of their devices.
import { useEffect, useRef } from 'react';
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { useParley } from '../session/session.tsx';
import type { LogView } from './log.ts';

/** Events within this time are reported together. */
const reportDelayMs = 300;

/**
 * Reports when a conversation is opened, and whenever its agent pauses while the user looks at it. A conversation that the
 * user marks as unread stays so until something new happens in it.
 */
export function useSeen(
  id: string,
  info: ConversationInfo | undefined,
  { phase, lastEventId }: Pick<LogView, 'phase' | 'lastEventId'>,
  isRunning: boolean,
): void {
  const parley = useParley();
  const reported = useRef(-1);
  const stored = useRef(info?.seen_event_id);
  stored.current = info?.seen_event_id;
  const isLoaded = phase === 'live' && info !== undefined;

  useEffect(() => {
    if (!isLoaded || lastEventId === undefined) return;
    const report = () => {
      const isFirst = reported.current === -1;
      if (document.visibilityState !== 'visible' || reported.current >= lastEventId) return;
      if (isRunning && !isFirst) return;
      reported.current = lastEventId;
      if ((stored.current ?? -1) >= lastEventId) return;
      // A key that may only read cannot report; nothing depends on it.
      parley.conversations.update(id, { seen_event_id: lastEventId }).catch(() => undefined);
    };
    const timer = setTimeout(report, reportDelayMs);
    document.addEventListener('visibilitychange', report);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', report);
    };
  }, [parley, id, isLoaded, lastEventId, isRunning]);
}

// Subscribes to the changes of all conversations, and keeps the lists on the screen current.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Change, StreamState } from '../../../src/client/parley.ts';
import { isUnauthorized, useSession } from '../session/session.tsx';
import { useRestartCount } from './connection.ts';
import { applyChange, refetchLists } from './conversationLists.ts';
import { startSubscription } from './subscription.ts';

/** Subscribes while `enabled`, and calls `onChange` for each change. */
export function useChanges(enabled: boolean, onChange: (change: Change) => void): void {
  const { parley, connection, keyRejected } = useSession();
  const queries = useQueryClient();
  const restartCount = useRestartCount(connection);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a restart of the connection subscribes again
  useEffect(() => {
    if (!enabled) return;
    const onReset = () => refetchLists(queries);

    function onState(state: StreamState): void {
      connection.report(state);
      // The stream does not contain what happened before it was opened.
      if (state === 'live') refetchLists(queries);
    }

    async function read(signal: AbortSignal): Promise<void> {
      for await (const change of parley.changes({ signal, onState, onReset })) {
        applyChange(queries, change);
        onChange(change);
      }
    }

    const unsubscribe = startSubscription({
      read,
      onInterrupted: () => connection.report('reconnecting'),
      onRejected: (error) => isUnauthorized(error) && keyRejected(),
    });
    return () => {
      unsubscribe();
      connection.streamClosed();
    };
  }, [enabled, parley, connection, queries, onChange, keyRejected, restartCount]);
}

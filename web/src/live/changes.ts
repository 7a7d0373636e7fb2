// Follows the changes of all conversations, and keeps the lists on the screen in step.
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Change, StreamState } from '../../../src/client/parley.ts';
import { isUnauthorized, useSession } from '../session/session.tsx';
import { useRound } from './connection.ts';
import { startFollowing } from './following.ts';
import { readListsAgain, takeChange } from './lists.ts';

/** Follows while `enabled`; `onChange` hears of each one. */
export function useChanges(enabled: boolean, onChange: (change: Change) => void): void {
  const { parley, connection, keyRejected: refused } = useSession();
  const queries = useQueryClient();
  const round = useRound(connection);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another round starts it again
  useEffect(() => {
    if (!enabled) return;
    const onReset = () => readListsAgain(queries);

    function onState(state: StreamState): void {
      connection.report(state);
      // What happened before the stream was there is in the lists alone.
      if (state === 'live') readListsAgain(queries);
    }

    async function follow(signal: AbortSignal): Promise<void> {
      for await (const change of parley.changes({ signal, onState, onReset })) {
        takeChange(queries, change);
        onChange(change);
      }
    }

    const end = startFollowing({
      follow,
      onBroken: () => connection.report('reconnecting'),
      onRefused: (error) => isUnauthorized(error) && refused(),
    });
    return () => {
      end();
      connection.forget();
    };
  }, [enabled, parley, connection, queries, onChange, refused, round]);
}

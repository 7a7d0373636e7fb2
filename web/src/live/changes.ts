// Subscribes to the changes of all conversations, and keeps the lists on the screen current.
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Change, Parley } from '../../../src/client/parley.ts';
import { isUnauthorized, useSession } from '../session/session.tsx';
import { useRestartCount } from './connection.ts';
import { applyChange, refetchLists } from './conversationLists.ts';
import { canShareStreams, readShared, type StreamMessage } from './sharedStream.ts';
import { startSubscription } from './subscription.ts';

const streamName = 'changes';
/** How often lists are fetched where the stream would need a connection of its own. */
const pollMs = 5_000;

async function readChanges(
  parley: Parley,
  signal: AbortSignal,
  emit: (message: StreamMessage<Change>) => void,
): Promise<void> {
  const onState = (state: 'live' | 'reconnecting') => emit({ state });
  const onReset = () => emit({ reset: true });
  for await (const item of parley.changes({ signal, onState, onReset })) emit({ item });
}

/** Fetches the lists now and then, while the user looks at them. */
function pollLists(queries: QueryClient): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible') refetchLists(queries);
  }, pollMs);
  return () => clearInterval(timer);
}

/**
 * Subscribes, and calls `onChange` for each change in one of the tabs. `inConversation`: the screen has other streams, so
 * that this one must be shared with other tabs, or replaced.
 */
export function useChanges(inConversation: boolean, onChange: (change: Change) => void): void {
  const { parley, connection, keyRejected, keyDigest } = useSession();
  const queries = useQueryClient();
  const restartCount = useRestartCount(connection);
  const isShared = canShareStreams();
  const isPolled = !isShared && inConversation;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a restart of the connection subscribes again
  useEffect(() => {
    if (isPolled) return pollLists(queries);
    const stream = connection.stream(streamName);

    function onMessage(message: StreamMessage<Change>, isReader: boolean): void {
      if ('item' in message) {
        applyChange(queries, message.item);
        if (isReader) onChange(message.item);
        return;
      }
      if ('state' in message) stream.report(message.state);
      // The stream does not contain what happened before it was opened.
      if ('reset' in message || message.state === 'live') refetchLists(queries);
    }

    async function read(signal: AbortSignal): Promise<void> {
      if (!isShared) return readChanges(parley, signal, (message) => onMessage(message, true));
      await readShared<Change>({
        name: `parley.changes.${await keyDigest()}`,
        signal,
        read: (emit) => readChanges(parley, signal, emit),
        onMessage,
        onJoined: () => refetchLists(queries),
      });
    }

    const unsubscribe = startSubscription({
      read,
      onInterrupted: () => stream.report('reconnecting'),
      onRejected: (error) => isUnauthorized(error) && keyRejected(),
    });
    return () => {
      unsubscribe();
      stream.closed();
    };
  }, [isShared, isPolled, parley, connection, queries, onChange, keyRejected, keyDigest, restartCount]);
}

// Takes snapshots of the files of a run: after each turn, and at its end.
import { BlobStoreError } from '../blobs/blobStore.ts';
import type { RunSnapshots as Snapshots } from '../workspaces/snapshots/runSnapshots.ts';
import type { RunContext, RunDependencies } from './runContext.ts';
import { leftOutNotice, notStoredNotice } from './snapshotNotices.ts';

export interface RunSnapshots {
  /** The agent was given everything that the user said before this event. */
  turnEnded(heard: number): void;
  /** Settles when a turn may change the files. */
  ready: Snapshots['copied'];
  /** Called when nothing runs any more. Waits within bounds. */
  finish(): Promise<void>;
}

interface Needs extends Pick<RunDependencies, 'snapshots'> {
  readonly onBackgroundError: (error: Error) => void;
}

/** Undefined if there is no store, and for a local folder, of which the user takes care. */
export function beginRunSnapshots(
  { snapshots, onBackgroundError }: Needs,
  { runId, conversation, inputs, recorder, faults, signal, isHeld }: RunContext,
): RunSnapshots | undefined {
  if (snapshots === undefined || inputs.localFolder !== undefined) return undefined;
  const { key, user_id: userId, id, repository, turn_from: turnFrom } = conversation;
  const own = snapshots.begin({
    run: { key, runId },
    name: { userId, id },
    hasRemote: repository !== null,
    isHeld: () => signal.reason !== 'lost' && isHeld(),
    onSummary: (summary) => {
      const leftOut = leftOutNotice(summary);
      if (leftOut !== undefined) faults.watch(() => recorder.add([leftOut]));
    },
    onFailure: (error) => {
      onBackgroundError(
        error instanceof BlobStoreError
          ? new Error(`the snapshot store cannot be used: ${error.message}`)
          : error,
      );
      faults.watch(() => recorder.add([notStoredNotice(error)]));
    },
    onRemovalFailure: ({ message }) =>
      onBackgroundError(new Error(`files of old snapshots could not be removed: ${message}`)),
  });
  let heard = turnFrom ?? conversation.heard;
  // Another process may own the conversation, or the files may be in any state.
  const abandon = () => (signal.reason === 'lost' || signal.reason === 'crash') && own.abandon();
  if (signal.aborted) abandon();
  else signal.addEventListener('abort', abandon, { once: true });
  return {
    turnEnded: (known) => {
      heard = known;
      own.take(known);
    },
    ready: own.copied,
    finish: () => own.finish(heard),
  };
}

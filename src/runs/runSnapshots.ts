// Takes snapshots of the files of a run: after each turn, when its user has changed files, and at its end.
import { BlobStoreError } from '../blobs/blobStore.ts';
import type { RunSnapshots } from '../workspaces/snapshots/runSnapshots.ts';
import type { RunContext, RunDependencies } from './runContext.ts';
import { leftOutNotice, notStoredNotice } from './snapshotNotices.ts';

interface Needs extends Pick<RunDependencies, 'snapshots'> {
  readonly onBackgroundError: (error: Error) => void;
}

/** Undefined if there is no store, and for a local folder, of which the user takes care. */
export function beginRunSnapshots(
  { snapshots, onBackgroundError }: Needs,
  { runId, conversation, inputs, recorder, faults, signal, isHeld, snapshot }: RunContext,
): RunSnapshots | undefined {
  if (snapshots === undefined || inputs.localFolder !== undefined) return undefined;
  const { key, user_id: userId, id, repository, turn_from: turnFrom } = conversation;
  const own = snapshots.begin({
    run: { key, runId },
    name: { userId, id },
    hasRemote: repository !== null,
    heard: turnFrom ?? conversation.heard,
    isHeld: () => signal.reason !== 'lost' && isHeld(),
    onSummary: (summary) => {
      const leftOut = leftOutNotice(summary);
      if (leftOut !== undefined) faults.watch(() => recorder.add([leftOut]));
    },
    onFailure: (error) => {
      const why =
        error instanceof BlobStoreError
          ? `the snapshot store cannot be used: ${error.message}`
          : error.message;
      const cause = error instanceof BlobStoreError ? {} : { cause: error };
      onBackgroundError(new Error(`no snapshot of conversation ${id} was stored: ${why}`, cause));
      faults.watch(() => recorder.add([notStoredNotice(error)]));
    },
    onRemovalFailure: ({ message }) =>
      onBackgroundError(
        new Error(`conversation ${id}: files of old snapshots could not be removed: ${message}`),
      ),
  });
  // Another process may own the conversation, or the files may be in any state.
  const abandon = () => (signal.reason === 'lost' || signal.reason === 'crash') && own.abandon();
  if (signal.aborted) abandon();
  else signal.addEventListener('abort', abandon, { once: true });
  if (snapshot === undefined) own.copyNew();
  return own;
}

// Fills a new workspace and home with the last snapshot of the conversation.
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobStoreError } from '../../blobs/blobStore.ts';
import { DamagedSnapshot } from '../snapshots/contents.ts';
import type { RestoreRefusal } from '../snapshots/inside/sections.ts';
import { restoreFiles } from '../snapshots/restore.ts';
import type { RestoreOutcome, StoredSnapshot } from '../snapshots/service.ts';
import {
  type CloneFault,
  type CloneOptions,
  fillWorkspace,
  readWorkspaceState,
  type WorkspaceState,
} from './clone.ts';
import { type ConversationFolders, emptyFolder } from './folders.ts';
import { strictGitEnvironment } from './gitEnvironment.ts';

/** How long a start waits for a store that cannot be used, and how often it tries. */
const storeWaitMsDefault = 60_000;
const tryEveryMs = 2_000;

export interface RestoreTarget extends CloneOptions {
  readonly folders: Pick<ConversationFolders, 'workspace' | 'home'>;
  readonly snapshot: StoredSnapshot;
  readonly withoutHome?: boolean;
  /** How long it waits for a store that cannot be used. */
  readonly storeWaitMs?: number;
}

/** Why the files could not be restored. The snapshot is kept in any case, and the next start tries again. */
export interface RestoreFault extends CloneFault {
  readonly cause: Exclude<RestoreOutcome, 'restored'>;
}

/** Those that need no details. */
type PlainCause = Exclude<RestoreFault['cause'], 'host' | 'damaged'>;

const faults: Readonly<Record<PlainCause, string>> = {
  store:
    'The files of this conversation are in the snapshot store, which cannot be used now. They are kept; start the conversation again later.',
  disk: 'There is no space left for the files of this conversation on this machine.',
  no_commit:
    'The files of this conversation cannot be restored, because the repository no longer has a commit that their snapshot builds on. The snapshot is kept: start the conversation again when the commit has been pushed again, or ask the operator to discard the snapshot.',
  failed:
    'The files of this conversation could not be unpacked from their snapshot, which is kept. Start the conversation again; if that does not help, ask the operator, who can discard the snapshot.',
};

function faultOf(cause: PlainCause): RestoreFault {
  return { fault: faults[cause], cause };
}

/** Names the blob, so that an operator can bring it back. */
function damagedFault({ message }: DamagedSnapshot): RestoreFault {
  return {
    fault: `The files of this conversation cannot be restored from their snapshot: ${message}. What is left of it is kept. The operator can bring the snapshot store back from a backup, after which the conversation can be started again, or discard the snapshot.`,
    cause: 'damaged',
  };
}

const causes: Readonly<Record<RestoreRefusal, PlainCause>> = {
  no_commit: 'no_commit',
  full: 'disk',
  failed: 'failed',
};

/** Waits for the store within a bound. Throws BlobStoreError. */
async function load({ snapshot, signal, report, storeWaitMs = storeWaitMsDefault }: RestoreTarget) {
  for (const since = performance.now(); ; ) {
    try {
      return await snapshot.load(signal);
    } catch (error) {
      const isOver = signal.aborted || performance.now() - since > storeWaitMs;
      if (!(error instanceof BlobStoreError) || isOver) throw error;
    }
    report('Waiting for the snapshot store');
    await sleep(tryEveryMs, undefined, { signal }).catch(() => {});
  }
}

async function restore(target: RestoreTarget): Promise<WorkspaceState | RestoreFault> {
  const { sandbox, remote, identity, folders, hostFault, withoutHome = false, signal, report } = target;
  const { contents, blobs } = await load(target);
  for (const folder of [folders.workspace, folders.home]) await emptyFolder(folder);
  if (contents.hasRepository) {
    // The branch that was chosen may be gone.
    const filled = await fillWorkspace({ ...target, branch: null, checkout: false });
    if ('fault' in filled) return { ...filled, cause: 'host' };
  }
  report('Restoring the files');
  const refusal = await restoreFiles({
    sandbox,
    blobs,
    contents,
    env: strictGitEnvironment({ bridge: sandbox.bridge, remote, identity }),
    hasRemote: remote !== undefined && contents.hasRepository,
    withoutHome,
    onProgress: (done, all) => report('Restoring the files', ` ${Math.round((100 * done) / all)} %`),
    signal,
  });
  if (refusal === undefined) {
    const state = await readWorkspaceState(target);
    return 'fault' in state ? { ...state, cause: 'failed' } : state;
  }
  const fault = refusal === 'full' ? undefined : hostFault?.();
  return fault === undefined ? faultOf(causes[refusal]) : { fault, cause: 'host' };
}

async function tryToRestore(target: RestoreTarget): Promise<WorkspaceState | RestoreFault> {
  try {
    return await restore(target);
  } catch (error) {
    if (error instanceof DamagedSnapshot) return damagedFault(error);
    if (error instanceof BlobStoreError || target.signal.aborted) return faultOf('store');
    throw error;
  }
}

/** A workspace that lacks files is never returned: its next snapshot would replace what is still in the store. */
export async function restoreSnapshot(target: RestoreTarget): Promise<WorkspaceState | RestoreFault> {
  const restored = await tryToRestore(target);
  if ('fault' in restored) target.snapshot.onRestore(restored.cause, restored.fault);
  else target.snapshot.onRestore('restored', '');
  return restored;
}

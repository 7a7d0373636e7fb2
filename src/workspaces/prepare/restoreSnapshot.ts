// Fills a new workspace and home with the last snapshot of the conversation.
import { setTimeout as sleep } from 'node:timers/promises';
import { BlobStoreError } from '../../blobs/blobStore.ts';
import { DamagedSnapshot } from '../snapshots/contents.ts';
import type { RestoreRefusal } from '../snapshots/inside/sections.ts';
import { restoreFiles } from '../snapshots/restore.ts';
import type { StoredSnapshot } from '../snapshots/service.ts';
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

/** Why the conversation goes on without its files, as a sentence for the user. */
export interface NotRestored {
  readonly notRestored: string;
}

const sentences: Readonly<Record<Exclude<RestoreRefusal, 'full'>, string>> = {
  no_commit: 'the repository no longer has a commit that it builds on',
  failed: 'it could not be unpacked',
};

function notRestored(why: string): NotRestored {
  return {
    notRestored: `The snapshot of the files could not be restored: ${why}. The conversation continues with a new workspace; changes that were not pushed are lost.`,
  };
}

const storeDown: CloneFault = {
  fault:
    'The files of this conversation are in the snapshot store, which cannot be used now. They are kept; start the conversation again later.',
};
const diskFull: CloneFault = {
  fault: 'There is no space left for the files of this conversation on this machine.',
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

async function restore(target: RestoreTarget): Promise<WorkspaceState | CloneFault | NotRestored> {
  const { sandbox, remote, identity, folders, hostFault, withoutHome = false, signal, report } = target;
  const { contents, blobs } = await load(target);
  for (const folder of [folders.workspace, folders.home]) await emptyFolder(folder);
  if (contents.hasRepository) {
    // The branch that was chosen may be gone.
    const filled = await fillWorkspace({ ...target, branch: null, checkout: false });
    if ('fault' in filled) return filled;
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
  if (refusal === undefined) return readWorkspaceState(target);
  if (refusal === 'full') return diskFull;
  // If the host of the repository is down, the snapshot can be restored later.
  const fault = hostFault?.();
  return fault === undefined ? notRestored(sentences[refusal]) : { fault };
}

/** What is missing or was changed is `NotRestored`. A store or host that is down is a fault: nothing may be lost by that. */
export async function restoreSnapshot(
  target: RestoreTarget,
): Promise<WorkspaceState | CloneFault | NotRestored> {
  try {
    return await restore(target);
  } catch (error) {
    if (error instanceof DamagedSnapshot) return notRestored(error.message);
    if (error instanceof BlobStoreError || target.signal.aborted) return storeDown;
    throw error;
  }
}

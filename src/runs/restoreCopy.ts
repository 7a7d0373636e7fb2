// Restores a snapshot into a folder of this machine for reading, in a sandbox that reaches nothing but the host of the
// repository, and opens sandboxes without network on it.
import { join } from 'node:path';
import { createBridge } from '../bridge/bridge.ts';
import { createGitHandler } from '../bridge/git.ts';
import type { ConversationName } from '../conversations/id.ts';
import { AppError } from '../errors.ts';
import type { GitHosts } from '../git/hosts.ts';
import { findRemote, type GitRemote } from '../git/remote.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { commandName } from '../process/program.ts';
import type { Cgroups } from '../sandbox/cgroups.ts';
import type { SandboxPlan } from '../sandbox/choose.ts';
import { type OpenSandbox, openSandbox } from '../sandbox/openSandbox.ts';
import type { ProcessRecords } from '../sandbox/processRecords.ts';
import { isRemote, type SandboxEngine, type SandboxSpec } from '../sandbox/sandbox.ts';
import { identityOf } from '../workspaces/prepare/gitEnvironment.ts';
import { restoreSnapshot } from '../workspaces/prepare/restoreSnapshot.ts';
import { snapshotReadable } from '../workspaces/snapshots/program.ts';
import { isLasting, type StoredSnapshot } from '../workspaces/snapshots/service.ts';
import type { LoadGitAccess } from './inputs.ts';

const restoreMs = 8 * 60_000;
export const retryAfterS = 10;

/** What the row of a conversation says. */
export interface ReadConversation {
  readonly key: number;
  readonly repository: string | null;
  readonly git_provider: string | null;
}

export interface CopyRestorerOptions {
  readonly sandboxes: Pick<SandboxPlan, 'choose'>;
  readonly cgroups: Cgroups | undefined;
  readonly records: ProcessRecords;
  readonly loadGitAccess: LoadGitAccess;
  readonly gitHosts: GitHosts;
  readonly allowPrivate: AllowPrivate;
  readonly nextId: () => string;
}

/** The repository that a snapshot builds on. */
interface RemoteAccess {
  readonly remote: GitRemote;
  readonly token: string | null;
}

export function foldersOf(folder: string) {
  return { workspace: join(folder, 'workspace'), home: join(folder, 'home') };
}

/** For a reason that may go away. */
export function notRestored(sentence: string): AppError {
  const message = `The machine that had the files of this conversation is gone. ${sentence}`;
  return new AppError('node_unreachable', message, { retryAfterS });
}

/** For a reason that stays until an operator does something. */
function notUsable(fault: string, { id }: ConversationName): AppError {
  const message = `${fault} The command for that is: ${commandName} snapshots discard ${id} --user NAME`;
  return new AppError('snapshot_unusable', message);
}

export function createCopyRestorer(options: CopyRestorerOptions) {
  const { sandboxes, cgroups, records, allowPrivate, nextId } = options;

  async function chooseEngine(): Promise<SandboxEngine> {
    const choice = await sandboxes.choose();
    if ('refusal' in choice) throw new AppError('no_sandbox', choice.refusal);
    return choice.engine;
  }

  function specOf(folder: string, readable: readonly string[]): SandboxSpec {
    return { name: `read-${nextId()}`, ...foldersOf(folder), readable, resourceFactor: 1, image: null };
  }

  async function open(
    folder: string,
    readable: readonly string[],
    bridge?: ReturnType<typeof createBridge>,
  ): Promise<OpenSandbox> {
    const engine = await chooseEngine();
    return openSandbox({ engine, spec: specOf(folder, readable), bridge, cgroups, records });
  }

  /** Undefined if the conversation has no repository. */
  async function findAccess(
    name: ConversationName,
    { repository, git_provider: named }: ReadConversation,
  ): Promise<RemoteAccess | undefined> {
    if (repository === null) return undefined;
    const { provider, userHosts, gitToken } = await options.loadGitAccess(name.userId, named);
    const found = findRemote({ repository, provider, userHosts, gitHosts: options.gitHosts });
    if ('fault' in found) throw notRestored(found.fault);
    return { remote: found.remote, token: (await gitToken(found.remote.provider)) ?? null };
  }

  /** A sandbox on a copy that was restored. */
  async function openCopy(folder: string, readable: readonly string[]): Promise<OpenSandbox> {
    const engine = await chooseEngine();
    if (!isRemote(engine)) return open(folder, readable);
    const joined = engine.join(specOf(folder, readable));
    if (joined === undefined) throw notRestored('The copy of their snapshot was lost; try again.');
    return joined;
  }

  /** Throws AppError if the files cannot be restored. What is returned must be closed, because it may hold them. */
  async function restore(
    folder: string,
    name: ConversationName,
    snapshot: StoredSnapshot,
    access: RemoteAccess | undefined,
    signal: AbortSignal,
  ): Promise<OpenSandbox> {
    const git = access && createGitHandler({ ...access, allowPrivate });
    const bridge = git && createBridge({ handlers: { git: git.handle } });
    try {
      const sandbox = await open(folder, snapshotReadable, bridge).catch((error: Error) => {
        throw error instanceof AppError
          ? error
          : notRestored(`No sandbox could be opened: ${error.message}.`);
      });
      let isRestored = false;
      try {
        const restored = await restoreSnapshot({
          sandbox,
          snapshot,
          folders: foldersOf(folder),
          withoutHome: true,
          storeWaitMs: 0,
          remote: access?.remote,
          identity: identityOf(null, null),
          branch: null,
          ...(git && { hostFault: git.fault }),
          timeoutMs: restoreMs,
          report: () => {},
          signal,
        });
        if (!('fault' in restored)) {
          isRestored = true;
          return sandbox;
        }
        if (isLasting(restored.cause)) throw notUsable(restored.fault, name);
        throw notRestored(restored.fault);
      } finally {
        await sandbox.close({ keepFiles: isRestored });
      }
    } finally {
      await bridge?.close();
    }
  }

  return { findAccess, restore, open: openCopy };
}

// Restores snapshots of conversations whose machine is gone, so that their files can be read here. Nothing runs in these
// copies, and they are removed when nobody has read them for a while.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { createBridge } from '../bridge/bridge.ts';
import { createGitHandler } from '../bridge/git.ts';
import type { ConversationName } from '../conversations/id.ts';
import { AppError } from '../errors.ts';
import type { GitHosts } from '../git/hosts.ts';
import { findRemote, type GitRemote } from '../git/remote.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import type { Cgroups } from '../sandbox/cgroups.ts';
import type { SandboxPlan } from '../sandbox/choose.ts';
import { type FreeMin, findDiskFault } from '../sandbox/diskWatch.ts';
import { type OpenSandbox, openSandbox } from '../sandbox/openSandbox.ts';
import type { ProcessRecords } from '../sandbox/processRecords.ts';
import type { SandboxEngine } from '../sandbox/sandbox.ts';
import { identityOf } from '../workspaces/prepare/gitEnvironment.ts';
import { restoreSnapshot } from '../workspaces/prepare/restoreSnapshot.ts';
import { snapshotReadable } from '../workspaces/snapshots/program.ts';
import type { Snapshots, StoredSnapshot } from '../workspaces/snapshots/service.ts';
import type { LoadGitAccess } from './inputs.ts';

/** Copies of one process. The one that was read longest ago is removed for another. */
const copiesMax = 8;
const idleMs = 10 * 60_000;
const checkEveryMs = 60_000;
/** How long a request waits; the copy goes on meanwhile. */
const requestWaitMs = 60_000;
const restoreMs = 8 * 60_000;
const retryAfterS = 10;
/** A process marks its folder with every check. One that is older belongs to a process that was killed. */
const leftMs = 15 * 60_000;
const folderMode = 0o700;

/** What the row of a conversation says. */
export interface ReadConversation {
  readonly key: number;
  readonly repository: string | null;
  readonly git_provider: string | null;
}

interface ReaderOptions {
  readonly snapshots: Snapshots;
  readonly dataDir: string;
  readonly sandboxes: Pick<SandboxPlan, 'choose'>;
  readonly cgroups: Cgroups | undefined;
  readonly records: ProcessRecords;
  readonly loadGitAccess: LoadGitAccess;
  readonly gitHosts: GitHosts;
  readonly allowPrivate: AllowPrivate;
  readonly freeMin: FreeMin;
  readonly nextId: () => string;
  readonly onBackgroundError: (error: Error) => void;
}

interface RestoredCopy {
  readonly folder: string;
  /** Rejects if it could not be restored. */
  readonly ready: Promise<void>;
  readonly stop: AbortController;
  usedAt: number;
  readers: number;
}

const notReady = () =>
  new AppError(
    'node_unreachable',
    'The machine that had the files of this conversation is gone. They are being restored from a snapshot; try again soon.',
    { retryAfterS },
  );

function notRestored(sentence: string): AppError {
  return new AppError(
    'node_unreachable',
    `The machine that had the files of this conversation is gone. ${sentence}`,
    {
      retryAfterS,
    },
  );
}

export type SnapshotReader = ReturnType<typeof createSnapshotReader>;

export function createSnapshotReader(options: ReaderOptions) {
  const { snapshots, dataDir, sandboxes, cgroups, records, nextId, onBackgroundError } = options;
  const top = join(dataDir, 'restored');
  const own = join(top, randomBytes(8).toString('hex'));
  /** By the id of the snapshot. */
  const copies = new Map<string, RestoredCopy>();
  const foldersOf = (folder: string) => ({
    workspace: join(folder, 'workspace'),
    home: join(folder, 'home'),
  });

  async function chooseEngine(): Promise<SandboxEngine> {
    const choice = await sandboxes.choose();
    if ('refusal' in choice) throw new AppError('no_sandbox', choice.refusal);
    return choice.engine;
  }

  function open(
    engine: SandboxEngine,
    folder: string,
    readable: readonly string[],
    bridge?: ReturnType<typeof createBridge>,
  ) {
    const spec = { name: `read-${nextId()}`, ...foldersOf(folder), readable, resourceFactor: 1, image: null };
    return openSandbox({ engine, spec, bridge, cgroups, records });
  }

  async function remoteOf(name: ConversationName, { repository, git_provider: named }: ReadConversation) {
    if (repository === null) return undefined;
    const { provider, userHosts, gitToken } = await options.loadGitAccess(name.userId, named);
    const found = findRemote({ repository, provider, userHosts, gitHosts: options.gitHosts });
    if ('fault' in found) throw notRestored(found.fault);
    return { remote: found.remote, token: (await gitToken(found.remote.provider)) ?? null };
  }

  async function restoreInto(
    folder: string,
    snapshot: StoredSnapshot,
    access: { readonly remote: GitRemote; readonly token: string | null } | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { allowPrivate } = options;
    const engine = await chooseEngine();
    const git = access && createGitHandler({ ...access, allowPrivate });
    // The only server that can be reached is the host of the repository.
    const bridge = git && createBridge({ handlers: { git: git.handle } });
    try {
      const sandbox = await open(engine, folder, snapshotReadable, bridge);
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
        if ('fault' in restored) throw notRestored(restored.fault);
        if ('notRestored' in restored) throw new AppError('no_workspace', restored.notRestored);
      } finally {
        await sandbox.close();
      }
    } finally {
      await bridge?.close();
    }
  }

  async function create(folder: string, work: () => Promise<void>): Promise<void> {
    for (const path of Object.values(foldersOf(folder)))
      await mkdir(path, { recursive: true, mode: folderMode });
    const fault = await findDiskFault(folder, options.freeMin);
    if (fault !== undefined) throw notRestored(fault);
    await work();
  }

  async function drop(id: string, copy: RestoredCopy): Promise<void> {
    if (copies.get(id) === copy) copies.delete(id);
    copy.stop.abort();
    await copy.ready.catch(() => {});
    await rm(copy.folder, { recursive: true, force: true });
  }

  /** Makes room for one more. Throws if all are being read. */
  function makeRoom(): void {
    if (copies.size < copiesMax) return;
    const idle = [...copies].filter(([, { readers }]) => readers === 0);
    const [oldest] = idle.toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
    if (oldest === undefined)
      throw new AppError('overloaded', 'Too many snapshots are being read; try again.', { retryAfterS });
    drop(...oldest).catch(onBackgroundError);
  }

  async function findCopy(
    snapshot: StoredSnapshot,
    name: ConversationName,
    conversation: ReadConversation,
  ): Promise<RestoredCopy> {
    const found = copies.get(snapshot.id);
    if (found !== undefined) return found;
    const access = await remoteOf(name, conversation);
    const again = copies.get(snapshot.id);
    if (again !== undefined) return again;
    makeRoom();
    // A copy of the same snapshot may still be being removed.
    const folder = join(own, randomBytes(8).toString('hex'));
    const stop = new AbortController();
    const ready = create(folder, () => restoreInto(folder, snapshot, access, stop.signal));
    const copy: RestoredCopy = { folder, ready, stop, usedAt: performance.now(), readers: 0 };
    copies.set(snapshot.id, copy);
    // The next request tries again.
    ready.catch(() => drop(snapshot.id, copy).catch(onBackgroundError));
    return copy;
  }

  async function waitFor({ ready }: RestoredCopy): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(notReady()), requestWaitMs);
    await Promise.race([ready, late.promise]).finally(() => clearTimeout(timer));
  }

  /** Opens a sandbox without network on the files; undefined if the conversation has no snapshot. */
  async function openFiles(
    name: ConversationName,
    conversation: ReadConversation,
    readable: readonly string[],
  ): Promise<OpenSandbox | undefined> {
    const snapshot = await snapshots.find(conversation.key);
    if (snapshot === undefined) return undefined;
    const copy = await findCopy(snapshot, name, conversation);
    copy.readers += 1;
    const leave = () => {
      copy.readers -= 1;
      copy.usedAt = performance.now();
    };
    try {
      await waitFor(copy);
      const sandbox = await open(await chooseEngine(), copy.folder, readable);
      let isOpen = true;
      return {
        ...sandbox,
        close: (how) => {
          if (isOpen) leave();
          isOpen = false;
          return sandbox.close(how);
        },
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async function removeIdle(): Promise<void> {
    const now = performance.now();
    for (const [id, copy] of copies)
      if (copy.readers === 0 && now - copy.usedAt > idleMs) await drop(id, copy);
  }

  async function removeLeft(): Promise<void> {
    const now = new Date();
    await utimes(own, now, now).catch(() => {});
    for (const name of await readdir(top).catch(() => [])) {
      const folder = join(top, name);
      const found = await stat(folder).catch(() => undefined);
      if (found !== undefined && now.getTime() - found.mtimeMs > leftMs)
        await rm(folder, { recursive: true, force: true });
    }
  }

  const check = () => removeIdle().then(removeLeft).catch(onBackgroundError);
  const timer = setInterval(() => void check(), checkEveryMs).unref();
  void check();

  return {
    open: openFiles,
    close: async () => {
      clearInterval(timer);
      await Promise.all([...copies].map(([id, copy]) => drop(id, copy)));
      await rm(own, { recursive: true, force: true });
    },
  };
}

// Snapshots keep the files of a conversation outside of the machine that runs it, so that another one can go on with
// them.
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type BlobStore, BlobStoreError } from '../../blobs/blobStore.ts';
import type { ConversationName } from '../../conversations/id.ts';
import type { Run } from '../../conversations/run/records.ts';
import { filesOf } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { blobKeyBytes } from '../../encryption/encrypt.ts';
import { ownerOf } from '../../encryption/store.ts';
import { storeEncrypted } from '../../encryption/storeEncrypted.ts';
import type { Vault } from '../../encryption/vault.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { limitCalls } from '../../process/limitCalls.ts';
import { type FreeMin, findDiskFault } from '../../sandbox/diskWatch.ts';
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { copiesAtOnce, copyBytesMaxOf, fileBytesMax, gitAddressBytesMax, piecesMaxOf } from './bounds.ts';
import {
  type Contents,
  createBlobBox,
  DamagedSnapshot,
  newBlobName,
  type Piece,
  piecesOf,
} from './contents.ts';
import { copyFiles, NotCopied } from './copy.ts';
import { WrongStoreError } from './marker.ts';
import type { OpenedSnapshot } from './publisher.ts';
import {
  type CopyRequest,
  createRunSnapshots,
  type RunSnapshots,
  type RunSnapshotsOptions,
  type SnapshotObserver,
} from './runSnapshots.ts';
import { findSnapshot, findSourceSnapshot, openSnapshot, type SnapshotRow } from './store.ts';
import { createSnapshotBlobs, type SnapshotBlobs } from './storeCalls.ts';

/** Longer than a copy can wait until it is stored. */
const leftMs = 60 * 60_000;
/** Blobs of a conversation that are looked at to find those that are missing. */
const checkedMax = 100_000;

interface SnapshotsOptions {
  readonly database: Database;
  readonly vault: Vault;
  readonly store: BlobStore;
  readonly dataDir: string;
  /** What a snapshot may hold. */
  readonly bytesMax: number;
  readonly filesMax: number;
  readonly freeMin: FreeMin;
  /** Opens a sandbox without network on the workspace and home of a conversation; undefined if it has none here. */
  readonly openWorkspace: (key: number, name: ConversationName) => Promise<OpenSandbox | undefined>;
  readonly metrics: Pick<Metrics, 'snapshots' | 'snapshotFailures' | 'snapshotBytes' | 'snapshotRestores'>;
  readonly onBackgroundError: (error: Error) => void;
  readonly now?: () => number;
  /** How long the end of a run waits for the store. */
  readonly endMs?: number;
}

interface SnapshottedRun
  extends Omit<RunSnapshotsOptions, 'database' | 'store' | 'open' | 'copy' | 'observe'> {
  readonly name: ConversationName;
  /** The workspace is a clone. */
  readonly hasRemote: boolean;
}

/** A snapshot that can be restored. */
export interface StoredSnapshot {
  readonly id: string;
  readonly takenAt: number;
  /** The agent had been given what the user said before this event. */
  readonly heard: number;
  /** It is that of the conversation that was forked, whose agent had the home. */
  readonly withoutHome: boolean;
  /** Reads what is in it. Throws DamagedSnapshot, and BlobStoreError if the store cannot be used. */
  load(signal: AbortSignal): Promise<{ readonly contents: Contents; readonly blobs: SnapshotBlobs }>;
  /** Counts an attempt to restore it, and reports a failure that only an operator can do something about. */
  onRestore(outcome: RestoreOutcome, fault: string): void;
}

export type RestoreOutcome =
  | 'restored'
  /** The store cannot be used now. */
  | 'store'
  /** The host of the repository failed. */
  | 'host'
  /** This machine has no space left. */
  | 'disk'
  /** Blobs are missing or were changed, so somebody must act. */
  | 'damaged'
  /** The repository no longer has a commit that is needed. */
  | 'no_commit'
  | 'failed';

/** Whether trying again does not help before somebody acts. */
export function isLasting(outcome: RestoreOutcome): boolean {
  return outcome === 'damaged' || outcome === 'no_commit' || outcome === 'failed';
}

/** Why a snapshot was not made, as the label of a metric. */
function failureReason(error: Error): string {
  if (error instanceof NotCopied) return error.reason;
  if (error instanceof WrongStoreError) return 'wrong_store';
  return error instanceof BlobStoreError ? 'store' : 'internal';
}

export type Snapshots = ReturnType<typeof createSnapshots>;

export function createSnapshots(options: SnapshotsOptions) {
  const { database, vault, store, dataDir, bytesMax, filesMax, openWorkspace, metrics } = options;
  const { onBackgroundError, now = Date.now } = options;
  const folder = join(dataDir, 'snapshots');
  const limit = limitCalls(copiesAtOnce, () => new NotCopied('ended', 'the run has ended'));
  const limits = { bytesMax, filesMax, fileBytesMax: Math.min(fileBytesMax, bytesMax), gitAddressBytesMax };
  const bounds = { piecesMax: piecesMaxOf(bytesMax), copyBytesMax: copyBytesMaxOf(bytesMax, filesMax) };

  async function openBox(row: SnapshotRow): Promise<OpenedSnapshot> {
    const owner = ownerOf({ table: 'snapshots', userId: row.user_id, name: [row.id] });
    const key = Buffer.from(await vault.decrypt(row.sealed, owner), 'base64url');
    return { row, box: createBlobBox(key, row) };
  }

  async function openFor(run: Run, { userId }: ConversationName): Promise<OpenedSnapshot | undefined> {
    const id = newBlobName();
    const key = randomBytes(blobKeyBytes).toString('base64url');
    const opened = await storeEncrypted(vault, () => {
      const sealed = vault.encrypt(key, ownerOf({ table: 'snapshots', userId, name: [id] }));
      return database.run(openSnapshot, { ...run, id, sealed });
    });
    return opened.outcome === 'open' ? openBox(opened.row) : undefined;
  }

  /** A copy takes space until it is stored. */
  async function checkDisk(): Promise<void> {
    if ((await findDiskFault(dataDir, options.freeMin)) !== undefined)
      throw new NotCopied('disk', 'the disk of this machine is nearly full');
  }

  const observe: SnapshotObserver = {
    published: (outcome, ms) => metrics.snapshots.observe([outcome], ms / 1_000),
    failed: (error) => metrics.snapshotFailures.add([failureReason(error)]),
    sent: (bytes) => metrics.snapshotBytes.add([], bytes),
  };
  /** Those of the runs of this process, by the keys of their conversations. */
  const running = new Map<number, RunSnapshots>();
  database.onNotification((topics) => {
    for (const topic of topics) {
      const key = filesOf(topic);
      if (key !== undefined) running.get(key)?.filesChanged();
    }
  });

  /** The snapshots of a run. */
  function begin({ run, name, hasRemote, ...rest }: SnapshottedRun): RunSnapshots {
    async function copy(
      { box }: OpenedSnapshot,
      known: ReadonlyMap<string, Piece>,
      { kind }: CopyRequest,
      signal: AbortSignal,
    ) {
      await checkDisk();
      const sandbox = await openWorkspace(run.key, name);
      if (sandbox === undefined) return undefined;
      try {
        const home = kind === 'start' ? null : sandbox.paths.home;
        const request = { limits, home, hasRemote };
        return await copyFiles({ sandbox, request, bounds, box, known, folder, now, signal });
      } finally {
        await sandbox.close();
      }
    }
    const own = createRunSnapshots({
      database,
      store,
      run,
      open: () => openFor(run, name),
      endMs: options.endMs,
      copy: (opened, known, request, signal) => limit(signal, () => copy(opened, known, request, signal)),
      observe,
      ...rest,
    });
    running.set(run.key, own);
    const finish = () =>
      own.finish().finally(() => {
        if (running.get(run.key) === own) running.delete(run.key);
      });
    return { ...own, finish };
  }

  async function loadBlob(row: SnapshotRow, blob: string, signal: AbortSignal) {
    const { box } = await openBox(row);
    const blobs = createSnapshotBlobs(store, row.id, box);
    return { contents: await blobs.getContents(blob, signal), blobs };
  }

  async function findSource(id: string): Promise<SnapshotRow> {
    const row = await database.run(findSourceSnapshot, id);
    if (row === undefined) throw new DamagedSnapshot(`the snapshot ${id} of the forked conversation is gone`);
    return row;
  }

  /** Why the files of a snapshot cannot be restored; undefined if all blobs are there, or the store cannot be asked now. */
  async function findFault(id: string, blob: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { contents, blobs } = await loadBlob(await findSource(id), blob, signal);
      const found = new Set(await blobs.list(checkedMax, signal));
      const missing = piecesOf(contents).find(({ name }) => !found.has(name));
      return missing === undefined || found.size >= checkedMax
        ? undefined
        : `the blob ${id}/${missing.name} is missing in the snapshot store`;
    } catch (error) {
      if (error instanceof DamagedSnapshot) return error.message;
      if (error instanceof BlobStoreError) return undefined;
      throw error;
    }
  }

  /** The last good snapshot of a conversation; undefined if there is none. */
  async function find(key: number): Promise<StoredSnapshot | undefined> {
    const row = await database.run(findSnapshot, key);
    if (row === undefined) return undefined;
    const { taken_at: takenAt, heard, source_id: sourceId } = row;
    const isForked = row.blob === null && sourceId !== null;
    const blob = isForked ? row.source_blob : row.blob;
    if (blob === null) return undefined;
    return {
      id: isForked ? row.id : blob,
      takenAt: takenAt ?? 0,
      heard: isForked ? -1 : (heard ?? 0),
      withoutHome: isForked,
      load: async (signal) => loadBlob(isForked ? await findSource(sourceId) : row, blob, signal),
      onRestore: (outcome, fault) => {
        metrics.snapshotRestores.add([outcome]);
        if (isLasting(outcome))
          onBackgroundError(new Error(`conversation ${row.conversation_id} lacks its files: ${fault}`));
      },
    };
  }

  return {
    begin,
    find,
    findFault,
    /** How long the oldest change of files, of all runs of this process, has been waiting for its snapshot. */
    overdueMs: () => Math.max(0, ...[...running.values()].map((own) => own.overdueMs())),
    /** Removes copies that processes of this machine have left when they were killed. */
    removeLeftCopies: async () => {
      for (const name of await readdir(folder).catch(() => [])) {
        const found = await stat(join(folder, name)).catch(() => undefined);
        if (found !== undefined && now() - found.mtimeMs > leftMs)
          await rm(join(folder, name), { recursive: true, force: true });
      }
    },
  };
}

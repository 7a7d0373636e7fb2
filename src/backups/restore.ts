// Restores a backup. Everything is written beside what is there, checked, and only then moved into place, the database
// last: until these moves begin, a restore that ends for any reason has changed nothing.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { mkdir, rename, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { holdDeliveries, stopRestored } from '../conversations/sweep/restoredStore.ts';
import { lockDataDir, lockRestore } from '../db/folderLocks.ts';
import { ensureDataDir } from '../db/open.ts';
import { encryptionKeyId } from '../encryption/encrypt.ts';
import { openKeyFile } from '../encryption/keyFile.ts';
import { RefusalError } from '../errors.ts';
import { recordRestore } from '../events/changes/store.ts';
import { dataFiles, type FilePart, keyFiles, snapshotFolder } from './contents.ts';
import { asRefusal, type BackupPlaces } from './create.ts';
import type { Head, Manifest } from './manifest.ts';
import { moveSnapshots } from './moveSnapshots.ts';
import { readArchive } from './openArchive.ts';
import { forgetBackups } from './store.ts';
import { syncFileSystem, syncFolder } from './sync.ts';
import { parseLine, type TableName } from './tables.ts';
import { badArchive } from './tar.ts';
import { openSqliteTarget } from './targets/sqliteTarget.ts';
import { type DatabaseTarget, migrationsOf } from './targets/target.ts';
import { createTreeWriter } from './writeTree.ts';

const folderMode = 0o700;
const stagePrefix = 'restoring-';
const stageNameBytes = 8;
/** Tables take more room in a database than as text, because of their indexes. */
const tableGrowth = 2;
const databaseFiles = ['parley.db', 'parley.db-wal', 'parley.db-shm'];

export interface RestoreOptions {
  readonly places: BackupPlaces;
  readonly file: string;
  readonly passphrase: string | undefined;
  /** Existing files are moved aside, and existing tables of PostgreSQL are deleted. */
  readonly replace: boolean;
  /** Webhook deliveries that were pending are not sent. */
  readonly holdDeliveries: boolean;
  readonly onProgress?: (bytes: number, bytesTotal: number) => void;
}

export interface RestoreResult {
  readonly head: Head;
  readonly manifest: Manifest;
  readonly stopped: number;
  readonly held: number;
  /** The folder with what was there before; undefined if there was nothing. */
  readonly replaced: string | undefined;
  /** The encryption key of the backup is available to the service. */
  readonly hasKey: boolean;
}

interface Checked {
  readonly head: Head;
  readonly manifest: Manifest;
  readonly bytes: number;
}

/** Reads the whole backup before anything is changed, and checks that there is room for it. */
export async function checkBackup(
  file: string,
  passphrase: string | undefined,
  { folder, withFiles }: { readonly folder: string; readonly withFiles: boolean },
): Promise<Checked> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  let [needed, bytes] = [0, 0];
  function need(more: number): void {
    needed += more;
    if (needed > free)
      throw new RefusalError(
        `The disk of ${folder} has ${Math.round(free / 1e6).toLocaleString('en')} MB left, which is not enough for this backup.`,
      );
  }
  const read = await readArchive(file, passphrase, {
    onHead: ({ migrations }) => void migrationsOf(migrations),
    onLines: (table, lines) => {
      for (const line of lines) {
        parseLine(line, table);
        bytes += line.length;
        need(tableGrowth * line.length);
      }
    },
    onEntry: async (_part, entry) => {
      bytes += entry.bytes;
      if (withFiles) need(entry.bytes);
    },
  });
  return { ...read, bytes };
}

/** What the backup brings, as names in the data folder. */
function namesOf(head: Head, manifest: Manifest, isSqlite: boolean): string[] {
  return [
    ...(isSqlite ? databaseFiles : []),
    ...(head.workspaces ? ['conversations', 'uploads'] : []),
    ...('data' in manifest.files ? dataFiles : []),
    ...('keys' in manifest.files ? keyFiles : []),
  ];
}

function isThere(path: string): boolean {
  try {
    return readdirSync(path).length > 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR';
  }
}

/** Only one restore at a time has the lock, so that all others were killed. */
function removeAbandonedStages(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (name.startsWith(stagePrefix)) rmSync(join(dataDir, name), { recursive: true, force: true });
}

async function openTarget({ places, replace }: RestoreOptions, stage: string): Promise<DatabaseTarget> {
  if (places.databaseUrl === undefined) return openSqliteTarget(join(stage, 'parley.db'));
  const { openPostgresTarget } = await import('./targets/postgresTarget.ts');
  return openPostgresTarget(places.databaseUrl, replace);
}

/** The files of a part go into the stage by the names that they have in the data folder. */
const stagedAs: Readonly<Record<FilePart, string>> = {
  conversations: 'conversations',
  uploads: 'uploads',
  snapshots: 'snapshots-restored',
  data: '.',
  keys: '.',
};

function isExpected(part: FilePart, path: string): boolean {
  if (part === 'data') return dataFiles.includes(path);
  return part !== 'keys' || keyFiles.includes(path);
}

async function fill(
  target: DatabaseTarget,
  stage: string,
  options: RestoreOptions,
  bytesTotal: number,
): Promise<{ head: Head; manifest: Manifest }> {
  const writers = new Map<string, ReturnType<typeof createTreeWriter>>();
  let bytes = 0;
  const progress = (more: number) => {
    bytes += more;
    options.onProgress?.(bytes, bytesTotal);
  };
  async function writerOf(part: FilePart) {
    const folder = join(stage, stagedAs[part]);
    const known = writers.get(folder);
    if (known !== undefined) return known;
    await mkdir(folder, { recursive: true, mode: folderMode });
    const made = createTreeWriter(folder);
    writers.set(folder, made);
    return made;
  }
  const read = await readArchive(options.file, options.passphrase, {
    onHead: ({ migrations }) => target.createSchema(migrations),
    onLines: async (table, lines) => {
      await target.insert(
        table,
        lines.map((line) => parseLine(line, table)),
      );
      progress(lines.reduce((sum, line) => sum + line.length, 0));
    },
    onEntry: async (part, entry, content) => {
      if (!isExpected(part, entry.path)) throw badArchive('it has an entry with a path that is not allowed');
      await (await writerOf(part)).write(entry, content);
      progress(entry.bytes);
    },
  });
  for (const writer of writers.values()) await writer.finish();
  return read;
}

/** Moves what is there to a folder of its own, so that it can be moved back. */
async function setAside(
  dataDir: string,
  names: readonly string[],
  nowMs: number,
): Promise<string | undefined> {
  const there = names.filter((name) => existsSync(join(dataDir, name)));
  if (there.length === 0) return undefined;
  const folder = join(dataDir, `replaced-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')}`);
  await mkdir(folder, { mode: folderMode });
  for (const name of there) await rename(join(dataDir, name), join(folder, name));
  return folder;
}

async function moveIntoPlace(stage: string, dataDir: string, names: readonly string[]): Promise<void> {
  // The database comes last: without it, the service knows nothing about the rest.
  for (const name of names.toReversed()) {
    if (!existsSync(join(stage, name))) continue;
    await rmdir(join(dataDir, name)).catch(() => {});
    await rename(join(stage, name), join(dataDir, name));
  }
  await syncFolder(dataDir);
}

function refuseExisting(dataDir: string, names: readonly string[]): void {
  const there = names.filter((name) => isThere(join(dataDir, name)));
  if (there.length > 0)
    throw new RefusalError(
      `${dataDir} already has ${there.join(', ')}. Restore into another folder, or use --replace, which moves them aside.`,
    );
}

function hasKeyOf({ encryption_key_id: keyId }: Head, { dataDir, secretKeys }: BackupPlaces): boolean {
  const keys = secretKeys.length > 0 ? secretKeys : openKeyFile(dataDir).read();
  return keyId === null || keys.some((key) => encryptionKeyId(key) === keyId);
}

/** Throws a RefusalError if it cannot be restored; nothing has changed then, unless the disk failed during the last moves. */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { places, replace } = options;
  const { dataDir, databaseUrl } = places;
  ensureDataDir(dataDir);
  // Services on PostgreSQL may share a data folder, so they do not lock it.
  const unlock = databaseUrl === undefined ? lockDataDir(dataDir) : lockRestore(dataDir);
  const stage = join(dataDir, `${stagePrefix}${randomBytes(stageNameBytes).toString('hex')}`);
  try {
    removeAbandonedStages(dataDir);
    const checked = await checkBackup(options.file, options.passphrase, { folder: dataDir, withFiles: true });
    const names = namesOf(checked.head, checked.manifest, databaseUrl === undefined);
    if (!replace) refuseExisting(dataDir, names);
    if (checked.head.snapshots && snapshotFolder(places) === undefined)
      throw new RefusalError(
        'The backup has snapshots. Set PARLEY_SNAPSHOTS to the folder that they belong to.',
      );
    await mkdir(stage, { mode: folderMode });
    return await restoreStaged(options, stage, checked, names);
  } catch (error) {
    throw asRefusal(error, 'The backup cannot be restored');
  } finally {
    rmSync(stage, { recursive: true, force: true });
    unlock();
  }
}

async function restoreStaged(
  options: RestoreOptions,
  stage: string,
  { bytes }: Checked,
  names: readonly string[],
): Promise<RestoreResult> {
  const { places } = options;
  const { dataDir } = places;
  const target = await openTarget(options, stage);
  try {
    const { head, manifest } = await fill(target, stage, options, bytes);
    await target.setLastNumbers(manifest.last_numbers as Partial<Record<TableName, number>>);
    await target.migrate();
    const at = new Date().toISOString();
    const stopped = await target.drive((q) => stopRestored(q, { backupAt: head.created_at, at }));
    const held = options.holdDeliveries ? await target.drive(holdDeliveries) : 0;
    await target.drive(forgetBackups);
    await target.drive(recordRestore);
    // PostgreSQL is committed last, because it cannot be moved; the file of SQLite is moved last.
    if (target.kind === 'sqlite') await target.commit();
    await syncFileSystem(stage);
    const replaced = await setAside(dataDir, names, Date.now());
    const snapshots = snapshotFolder(places);
    if (snapshots !== undefined) await moveSnapshots(join(stage, stagedAs.snapshots), snapshots);
    await moveIntoPlace(stage, dataDir, names);
    if (target.kind === 'postgres') await target.commit();
    return { head, manifest, stopped, held, replaced, hasKey: hasKeyOf(head, places) };
  } finally {
    await target.close();
  }
}

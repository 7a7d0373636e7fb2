// Makes a backup: one file, which appears under its name when it is complete and on disk.
import { createWriteStream, rmSync, statSync } from 'node:fs';
import { rename, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { Config } from '../config.ts';
import { openKeyFile } from '../encryption/keyFile.ts';
import { RefusalError } from '../errors.ts';
import { encryptWithPassphrase } from './age.ts';
import { type Archive, createArchive, type Progress, readNamed } from './archive.ts';
import { type ContentsChoice, snapshotFolder, treesOf } from './contents.ts';
import type { Head, Manifest } from './manifest.ts';
import { partialNameOf, removeAbandoned } from './partialFiles.ts';
import type { DatabaseSource } from './sources/source.ts';
import { openSqliteSource } from './sources/sqliteSource.ts';
import { syncFolder } from './sync.ts';

const fileMode = 0o600;
const mib = 1_048_576;
/** A backup must not fill the disk of the service. */
const freeBytesMin = 512 * mib;
const freeCheckedEveryBytes = 16 * mib;

export type BackupPlaces = Pick<
  Config,
  'dataDir' | 'databaseUrl' | 'secretKeys' | 'workspaceMb' | 'workspaceFiles' | 'snapshots'
>;

export interface BackupOptions extends ContentsChoice {
  readonly places: BackupPlaces;
  /** The file to create, or a stream such as standard output. */
  readonly to: string | NodeJS.WritableStream;
  readonly keys: boolean;
  readonly passphrase: string | undefined;
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

export interface BackupResult {
  readonly head: Head;
  readonly manifest: Manifest;
  /** The size of the file. */
  readonly bytes: number;
}

export async function openSource({ databaseUrl, dataDir }: BackupPlaces): Promise<DatabaseSource> {
  if (databaseUrl === undefined) return openSqliteSource(join(dataDir, 'parley.db'));
  // Loaded only if it is used, because SQLite does not need the client.
  const { openPostgresSource } = await import('./sources/postgresSource.ts');
  return openPostgresSource(databaseUrl);
}

/** A rotation may replace keys while the snapshot is taken, so they are read before and after. */
function readKeys({ dataDir, secretKeys }: BackupPlaces): string[] {
  const keys = secretKeys.length > 0 ? secretKeys : openKeyFile(dataDir).read();
  return keys.map((key) => key.toString('hex'));
}

function keyFilesOf(places: BackupPlaces, secretKeys: ReadonlySet<string>): Map<string, string> {
  const found = readNamed(places.dataDir, ['owner.key']);
  if (secretKeys.size > 0) found.set('secret.key', [...secretKeys].map((key) => `${key}\n`).join(''));
  return found;
}

/** Stops before the disk is full, if it is that of the service. Elsewhere a full disk harms nobody. */
function createSpaceCheck(folder: string, dataDir: string) {
  if (statSync(folder).dev !== statSync(dataDir).dev) return async () => {};
  let unchecked = freeCheckedEveryBytes;
  return async (bytes: number): Promise<void> => {
    unchecked += bytes;
    if (unchecked < freeCheckedEveryBytes) return;
    unchecked = 0;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < freeBytesMin)
      throw new RefusalError(
        `The disk of ${folder} has less than ${freeBytesMin / mib} MiB left, so the backup was stopped. Free some space, or choose another disk.`,
      );
  };
}

async function writeTo(
  target: NodeJS.WritableStream,
  archive: Archive,
  { passphrase, signal }: BackupOptions,
  check: (bytes: number) => Promise<void>,
): Promise<number> {
  let written = 0;
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  async function* encrypt(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    yield* passphrase === undefined ? stream : encryptWithPassphrase(passphrase, stream);
  }
  async function* count(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of stream) {
      written += piece.length;
      await check(piece.length);
      yield piece;
    }
  }
  await pipeline(archive.bytes, compress, encrypt, count, target, { ...(signal && { signal }) });
  return written;
}

/** Errors of the file system become refusals; others are bugs. */
export function asRefusal(error: unknown, what: string): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  return syscall !== undefined && /^E[A-Z]+$/.test(code) ? new RefusalError(`${what}: ${code}.`) : error;
}

async function writeFile(file: string, archive: Archive, options: BackupOptions): Promise<number> {
  const partial = partialNameOf(file);
  try {
    removeAbandoned(file);
    const target = createWriteStream(partial, { flags: 'wx', mode: fileMode, flush: true });
    const bytes = await writeTo(
      target,
      archive,
      options,
      createSpaceCheck(dirname(file), options.places.dataDir),
    );
    await rename(partial, file);
    await syncFolder(dirname(file));
    return bytes;
  } catch (error) {
    rmSync(partial, { force: true });
    throw asRefusal(error, 'The backup cannot be written');
  }
}

/** Throws a RefusalError if it cannot be made; there is no new file then. */
export async function createBackup(options: BackupOptions): Promise<BackupResult> {
  const { places, to, onProgress = () => {} } = options;
  if (options.snapshots && snapshotFolder(places) === undefined)
    throw new RefusalError(
      'There is no folder of snapshots: PARLEY_SNAPSHOTS is not set, or names S3, which has backups of its own.',
    );
  const keysBefore = options.keys ? readKeys(places) : [];
  const source = await openSource(places);
  try {
    const keys = options.keys
      ? keyFilesOf(places, new Set([...keysBefore, ...readKeys(places)]))
      : new Map<string, string>();
    const { workspaces, snapshots } = options;
    const trees = treesOf(places, options);
    const { dataDir } = places;
    const archive = await createArchive({
      ...{ source, dataDir, trees, keys, workspaces, snapshots, onProgress },
      nowMs: Date.now(),
    });
    const bytes =
      typeof to === 'string'
        ? await writeFile(to, archive, options)
        : await writeTo(to, archive, options, async () => {});
    return { head: archive.head, manifest: archive.manifest, bytes };
  } finally {
    await source.close();
  }
}

// Reads a backup and checks it while it does so. Everything in it may be hostile: it decides no path, no table and no size
// that is not checked here.
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { RefusalError } from '../errors.ts';
import { ageMagic, decryptWithPassphrase } from './age.ts';
import { type ByteReader, createByteReader, TruncatedError } from './byteReader.ts';
import { type FilePart, fileParts } from './contents.ts';
import {
  type Head,
  headPath,
  type Manifest,
  manifestPath,
  parseHead,
  parseManifest,
  tablePrefix,
} from './manifest.ts';
import type { TableColumns } from './tables.ts';
import { badArchive, paddingOf, readTarHeader, type TarEntry, tarEnd } from './tar.ts';

const mib = 1_048_576;
const headBytesMax = 4 * mib;
const manifestBytesMax = 16 * mib;
/** Larger than any row that the service stores. */
const lineBytesMax = 256 * mib;
const pieceBytes = mib;
const zstdMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** What is done with the contents. Each call is awaited. */
export interface ArchiveVisitor {
  onHead(head: Head): Promise<void> | void;
  /** Whole lines of a table, without the last newline. */
  onLines(table: TableColumns, lines: readonly string[]): Promise<void> | void;
  /** An entry of a part, with its path below the part. Its content must be read to the end, or not at all. */
  onEntry(part: FilePart, entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void> | void;
}

export interface ReadArchive {
  readonly head: Head;
  readonly manifest: Manifest;
}

interface Counted {
  entries: number;
  bytes: number;
  readonly hash: Hash;
}

async function readMagic(file: string): Promise<Buffer> {
  const opened = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new RefusalError(`The backup cannot be read: ${error.code}.`);
  });
  try {
    if (!(await opened.stat()).isFile())
      throw new RefusalError('The backup cannot be read: it is not a file.');
    const { buffer, bytesRead } = await opened.read(Buffer.alloc(ageMagic.length), 0, ageMagic.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await opened.close();
  }
}

/** Whether the file needs a passphrase. */
export async function isEncrypted(file: string): Promise<boolean> {
  return (await readMagic(file)).equals(ageMagic);
}

/** The tar stream of a file. */
async function openBytes(file: string, passphrase: string | undefined): Promise<AsyncIterable<Buffer>> {
  const magic = await readMagic(file);
  const encrypted = magic.equals(ageMagic);
  if (encrypted && passphrase === undefined)
    throw new RefusalError(
      'The backup is encrypted. Name the file with its passphrase with --passphrase-file, or set PARLEY_BACKUP_PASSPHRASE.',
    );
  if (!encrypted && !magic.subarray(0, zstdMagic.length).equals(zstdMagic))
    throw badArchive('the file has another format');
  const raw = createReadStream(file, { highWaterMark: pieceBytes });
  const stored = encrypted && passphrase !== undefined ? decryptWithPassphrase(passphrase, raw) : raw;
  const source = Readable.from(stored, { objectMode: false });
  const decompressed = createZstdDecompress({ chunkSize: pieceBytes / 4 });
  source.on('error', (error) => decompressed.destroy(error));
  decompressed.on('close', () => {
    source.destroy();
    raw.destroy();
  });
  return source.pipe(decompressed) as AsyncIterable<Buffer>;
}

/** Below a part, a path has no empty, `.` or `..` steps, and none that a file system cannot store. */
export function isSafePath(path: string): boolean {
  const steps = path.split('/');
  return (
    path.length <= 4_096 &&
    steps.every((step) => step !== '' && step !== '.' && step !== '..' && step.length <= 255) &&
    !path.includes('\0')
  );
}

function partOf(path: string): { readonly part: FilePart; readonly below: string } {
  const [first = '', ...steps] = path.split('/');
  const part = fileParts.find((known) => known === first);
  const below = steps.join('/');
  if (part === undefined || !isSafePath(below))
    throw badArchive('it has an entry with a path that is not allowed');
  return { part, below };
}

async function takeText(reader: ByteReader, entry: TarEntry, bytesMax: number): Promise<string> {
  if (entry.kind !== 'file' || entry.bytes > bytesMax) throw badArchive(`${entry.path} is too large`);
  const text = (await reader.take(entry.bytes)).toString('utf8');
  await reader.take(paddingOf(entry.bytes).length);
  return text;
}

/** Splits the content of the files of one table into lines; a line may continue in the next file. */
function createLines(table: TableColumns, visitor: ArchiveVisitor) {
  let rest: Buffer[] = [];
  let restBytes = 0;
  return {
    add: async (piece: Buffer): Promise<number> => {
      const end = piece.lastIndexOf(10);
      if (end === -1) {
        rest.push(piece);
        restBytes += piece.length;
        if (restBytes > lineBytesMax) throw badArchive(`a row of ${table.name} is too long`);
        return 0;
      }
      const lines = Buffer.concat([...rest, piece.subarray(0, end)])
        .toString('utf8')
        .split('\n');
      rest = end + 1 < piece.length ? [piece.subarray(end + 1)] : [];
      restBytes = piece.length - end - 1;
      await visitor.onLines(table, lines);
      return lines.length;
    },
    isComplete: () => restBytes === 0,
  };
}

/** Reads everything in order. Throws a RefusalError if anything is missing, damaged or not allowed. */
export async function readArchive(
  file: string,
  passphrase: string | undefined,
  visitor: ArchiveVisitor,
): Promise<ReadArchive> {
  const bytes = (await openBytes(file, passphrase))[Symbol.asyncIterator]();
  try {
    return await readBytes({ [Symbol.asyncIterator]: () => bytes }, visitor);
  } catch (error) {
    if (error instanceof TruncatedError) throw badArchive('it ends too early');
    if (/^(ZSTD_|Z_)/.test((error as { code?: string }).code ?? '')) throw badArchive('it is damaged');
    throw error;
  } finally {
    await bytes.return?.();
  }
}

async function readBytes(bytes: AsyncIterable<Buffer>, visitor: ArchiveVisitor): Promise<ReadArchive> {
  const reader = createByteReader(bytes);
  const first = await readTarHeader(reader);
  if (first?.entry.path !== headPath) throw badArchive('it does not begin like one');
  const headText = await takeText(reader, first.entry, headBytesMax);
  const head = parseHead(headText);
  await visitor.onHead(head);
  const tables = new Map<
    string,
    {
      rows: number;
      readonly hash: Hash;
      readonly lines: ReturnType<typeof createLines>;
      readonly columns: TableColumns;
    }
  >();
  const parts = new Map<FilePart, Counted>();
  let current: string | undefined;

  function openTable(name: string) {
    const columns = head.tables.find((table) => table.name === name);
    if (columns === undefined) throw badArchive('it has rows of a table that it does not announce');
    if (current !== name && tables.has(name)) throw badArchive(`the rows of ${name} are in several places`);
    current = name;
    const found = tables.get(name) ?? {
      rows: 0,
      hash: createHash('sha256'),
      lines: createLines(columns, visitor),
      columns,
    };
    tables.set(name, found);
    return found;
  }

  async function readTable(entry: TarEntry): Promise<void> {
    const [, name = ''] = /^database\/([a-z_]{1,63})\/\d{6,9}\.jsonl$/.exec(entry.path) ?? [];
    if (entry.kind !== 'file') throw badArchive('it has an entry with a path that is not allowed');
    const table = openTable(name);
    for await (const piece of contentOf(entry)) {
      table.hash.update(piece);
      table.rows += await table.lines.add(piece);
    }
  }

  async function* contentOf({ bytes: size }: TarEntry, hash?: Hash): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      const piece = await reader.takeSome(Math.min(left, pieceBytes));
      if (piece.length === 0) throw new TruncatedError();
      left -= piece.length;
      hash?.update(piece);
      yield piece;
    }
    const padding = await reader.take(paddingOf(size).length);
    hash?.update(padding);
  }

  async function readFile(entry: TarEntry, header: Buffer): Promise<void> {
    const { part, below } = partOf(entry.path);
    const counted = parts.get(part) ?? { entries: 0, bytes: 0, hash: createHash('sha256') };
    parts.set(part, counted);
    counted.entries += 1;
    counted.bytes += entry.bytes;
    counted.hash.update(header);
    const content = contentOf(entry, counted.hash);
    await visitor.onEntry(part, { ...entry, path: below }, content);
    // A visitor that did not want it has not read it.
    for await (const _ of content);
  }

  for (;;) {
    const next = await readTarHeader(reader);
    if (next === undefined) throw badArchive('it has no manifest');
    const { entry, header } = next;
    if (entry.path === manifestPath) {
      const manifest = parseManifest(await takeText(reader, entry, manifestBytesMax));
      compare(manifest, head, tables, parts);
      if (manifest.head_sha256 !== createHash('sha256').update(headText).digest('hex'))
        throw badArchive('its head is not the one that was stored');
      await readEnd(reader);
      return { head, manifest };
    }
    if (entry.path.startsWith(tablePrefix)) await readTable(entry);
    else await readFile(entry, header);
  }
}

/** Reads to the end of the file, where the checksum of zstd and the mark of the last piece of age are. */
async function readEnd(reader: ByteReader): Promise<void> {
  const end = (await readTarHeader(reader)) === undefined && (await reader.take(tarEnd.length / 2));
  if (end === false || end.some((byte) => byte !== 0) || (await reader.takeSome(1)).length > 0)
    throw badArchive('something follows its manifest');
}

type ReadTables = ReadonlyMap<
  string,
  { readonly rows: number; readonly hash: Hash; readonly lines: { isComplete(): boolean } }
>;

function compare(
  manifest: Manifest,
  head: Head,
  tables: ReadTables,
  parts: ReadonlyMap<FilePart, Counted>,
): void {
  for (const { name } of head.tables) {
    const announced = manifest.tables[name];
    const found = tables.get(name) ?? {
      rows: 0,
      hash: createHash('sha256'),
      lines: { isComplete: () => true },
    };
    if (
      announced?.rows !== found.rows ||
      announced.sha256 !== found.hash.digest('hex') ||
      !found.lines.isComplete()
    )
      throw badArchive(`the rows of ${name} are not those that were stored`);
  }
  for (const part of fileParts) {
    const announced = manifest.files[part];
    const found = parts.get(part);
    if (announced?.entries !== found?.entries || announced?.sha256 !== found?.hash.digest('hex'))
      throw badArchive(`the files of ${part} are not those that were stored`);
  }
}

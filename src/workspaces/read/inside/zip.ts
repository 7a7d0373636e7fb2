// Writes a zip archive as a stream: each file is compressed as it is read, and its sizes follow it. It is written by hand
// for its speed, and for names that are not UTF-8; see docs/decisions.md.
import { createReadStream, fstatSync, lstatSync, type Stats } from 'node:fs';
import { crc32, createDeflateRaw } from 'node:zlib';
import { openFile, Refused } from './contained.ts';
import type { TreeEntry } from './tree.ts';

const versionNeeded = 20;
const madeOnUnix = (3 << 8) | versionNeeded;
const sizesFollow = 1 << 3;
const nameIsUtf8 = 1 << 11;
const deflated = 8;
const stored = 0;
const isFolderFlag = 0x10;
const anyExecutable = 0o111;
/** More needs zip64, which not every program reads. The bounds of a download are below both. */
const formatEntriesMax = 0xffff - 1;
const formatBytesMax = 0xffff_ffff - 1;

interface Written {
  readonly name: Buffer;
  readonly flags: number;
  readonly method: number;
  readonly time: number;
  readonly mode: number;
  readonly isFolder: boolean;
  readonly offset: number;
  crc: number;
  packedBytes: number;
  bytes: number;
}

/** The format counts in steps of two seconds since 1980. */
function dosTime({ mtime }: Stats): number {
  const year = Math.min(Math.max(mtime.getUTCFullYear(), 1_980), 2_107);
  const day = ((year - 1_980) << 9) | ((mtime.getUTCMonth() + 1) << 5) | mtime.getUTCDate();
  const clock = (mtime.getUTCHours() << 11) | (mtime.getUTCMinutes() << 5) | (mtime.getUTCSeconds() >> 1);
  return ((day << 16) | clock) >>> 0;
}

function begin(entry: TreeEntry, stats: Stats, offset: number): Written {
  const { name, isFolder } = entry;
  const executable = isFolder || (stats.mode & anyExecutable) !== 0;
  return {
    name,
    flags: (Buffer.from(name.toString()).equals(name) ? nameIsUtf8 : 0) | (isFolder ? 0 : sizesFollow),
    method: isFolder ? stored : deflated,
    time: dosTime(stats),
    mode: (isFolder ? 0o040_000 : 0o100_000) | (executable ? 0o755 : 0o644),
    isFolder,
    offset,
    crc: 0,
    packedBytes: 0,
    bytes: 0,
  };
}

function localHeader({ name, flags, method, time }: Written): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(versionNeeded, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(time, 10);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, name]);
}

function sizesOf({ crc, packedBytes, bytes }: Written): Buffer {
  const sizes = Buffer.alloc(12);
  sizes.writeUInt32LE(crc, 0);
  sizes.writeUInt32LE(packedBytes, 4);
  sizes.writeUInt32LE(bytes, 8);
  return sizes;
}

function descriptor(written: Written): Buffer {
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(0x08074b50, 0);
  return Buffer.concat([mark, sizesOf(written)]);
}

function centralHeader(written: Written): Buffer {
  const { name, flags, method, time, mode, isFolder, offset } = written;
  const header = Buffer.alloc(46);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(madeOnUnix, 4);
  header.writeUInt16LE(versionNeeded, 6);
  header.writeUInt16LE(flags, 8);
  header.writeUInt16LE(method, 10);
  header.writeUInt32LE(time, 12);
  sizesOf(written).copy(header, 16);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt32LE(((mode << 16) | (isFolder ? isFolderFlag : 0)) >>> 0, 38);
  header.writeUInt32LE(offset, 42);
  return Buffer.concat([header, name]);
}

function endRecord(count: number, start: number, size: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(start, 16);
  return end;
}

async function* packed(fd: number, size: number, written: Written): AsyncGenerator<Buffer> {
  // Read only as much as the file had when it was opened, because it may be a log that grows.
  const file = createReadStream('', { fd, start: 0, end: Math.max(size - 1, 0) });
  const deflate = createDeflateRaw();
  file.on('data', (piece) => {
    written.crc = crc32(piece, written.crc);
    written.bytes += piece.length;
  });
  file.on('error', (error) => deflate.destroy(error));
  file.pipe(deflate);
  for await (const piece of deflate as AsyncIterable<Buffer>) {
    written.packedBytes += piece.length;
    yield piece;
  }
}

interface Opened {
  readonly stats: Stats;
  /** Undefined for a folder. */
  readonly fd: number | undefined;
}

/** Undefined if the entry is gone, has become something else, or cannot be read. */
function openEntry(entry: TreeEntry): Opened | undefined {
  if (entry.isFolder) {
    const stats = lstatSync(entry.place, { throwIfNoEntry: false });
    return stats?.isDirectory() ? { stats, fd: undefined } : undefined;
  }
  const fd = openFile(entry.place);
  return fd === undefined ? undefined : { stats: fstatSync(fd), fd };
}

/** Leaves out files that can no longer be read. Throws Refused if files have grown past the bound. */
export async function* zip(entries: readonly TreeEntry[], bytesMax: number): AsyncGenerator<Buffer> {
  const done: Written[] = [];
  let offset = 0;
  let bytes = 0;
  const count = (piece: Buffer) => {
    offset += piece.length;
    if (offset > formatBytesMax) throw new Refused('too_large');
    return piece;
  };
  for (const entry of entries) {
    const opened = openEntry(entry);
    if (opened === undefined) continue;
    const { fd, stats } = opened;
    const written = begin(entry, stats, offset);
    done.push(written);
    if (done.length > formatEntriesMax) throw new Refused('too_large');
    yield count(localHeader(written));
    if (fd === undefined) continue;
    bytes += stats.size;
    if (bytes > bytesMax) throw new Refused('too_large');
    for await (const piece of packed(fd, stats.size, written)) yield count(piece);
    yield count(descriptor(written));
  }
  const start = offset;
  for (const written of done) yield count(centralHeader(written));
  yield endRecord(done.length, start, offset - start);
}

// The part of the tar format that backups use: files, folders and symbolic links, with pax headers for what does not fit
// into the old fields. The reader refuses everything else, so that an archive can hold no devices, hard links or sparse files.
import { RefusalError } from '../errors.ts';
import type { ByteReader } from './byteReader.ts';

const blockBytes = 512;
const nameBytesMax = 100;
/** Eleven octal digits. */
const oldSizeMax = 8 ** 11 - 1;
/** Enough for a path and a link target of the longest kind. */
const paxBytesMax = 16_384;
const modeBits = 0o777;

export type EntryKind = 'file' | 'folder' | 'link';

/** Names and targets are bytes, as latin1 text: Linux allows any but NUL and, in names, the slash. */
export interface TarEntry {
  readonly path: string;
  readonly kind: EntryKind;
  readonly bytes: number;
  readonly mode: number;
  /** Seconds since 1970. */
  readonly modifiedS: number;
  /** Where a link points. */
  readonly target?: string;
}

const typeOf = { file: '0', folder: '5', link: '2' } as const;
const kindOf: Readonly<Record<string, EntryKind>> = { '0': 'file', '5': 'folder', '2': 'link' };

export function paddingOf(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

export const tarEnd: Buffer = Buffer.alloc(2 * blockBytes);

function octal(value: number, digits: number): string {
  return `${value.toString(8).padStart(digits, '0')}\0`;
}

function checksumOf(block: Buffer): number {
  let sum = 0;
  // The field itself counts as blanks.
  for (const [i, byte] of block.entries()) sum += i >= 148 && i < 156 ? 32 : byte;
  return sum;
}

function headerBlock(type: string, name: string, entry: TarEntry): Buffer {
  const block = Buffer.alloc(blockBytes);
  const put = (text: string, offset: number, max: number) =>
    block.write(text.slice(0, max), offset, 'latin1');
  put(name, 0, nameBytesMax);
  put(octal(entry.mode & modeBits, 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  put(octal(Math.min(entry.bytes, oldSizeMax), 11), 124, 12);
  put(octal(Math.max(0, Math.min(entry.modifiedS, oldSizeMax)), 11), 136, 12);
  put(type, 156, 1);
  put(entry.target ?? '', 157, nameBytesMax);
  put('ustar\x0000', 257, 8);
  put(octal(checksumOf(block), 6), 148, 7);
  block[155] = 32;
  return block;
}

/** A record begins with its own length, which counts its digits. */
function paxRecord(name: string, value: string): string {
  const rest = ` ${name}=${value}\n`;
  let bytes = rest.length;
  while (bytes !== rest.length + String(bytes).length) bytes = rest.length + String(bytes).length;
  return `${bytes}${rest}`;
}

/** The blocks before the content of an entry. */
export function tarHeader(entry: TarEntry): Buffer {
  const path = entry.kind === 'folder' ? `${entry.path}/` : entry.path;
  const target = entry.target ?? '';
  const records = [
    ...(path.length > nameBytesMax ? [paxRecord('path', path)] : []),
    ...(target.length > nameBytesMax ? [paxRecord('linkpath', target)] : []),
    ...(entry.bytes > oldSizeMax ? [paxRecord('size', String(entry.bytes))] : []),
  ];
  const own = headerBlock(typeOf[entry.kind], path, entry);
  if (records.length === 0) return own;
  const pax = Buffer.from(records.join(''), 'latin1');
  const before = headerBlock('x', 'pax', { ...entry, bytes: pax.length, target: '' });
  return Buffer.concat([before, pax, paddingOf(pax.length), own]);
}

export function badArchive(why: string): RefusalError {
  return new RefusalError(`This is not a complete backup of Parley: ${why}.`);
}

function textAt(block: Buffer, offset: number, bytes: number): string {
  const field = block.subarray(offset, offset + bytes);
  const end = field.indexOf(0);
  return field.toString('latin1', 0, end === -1 ? bytes : end);
}

function numberAt(block: Buffer, offset: number, bytes: number): number {
  const text = textAt(block, offset, bytes).trim();
  if (!/^[0-7]{1,11}$/.test(text)) throw badArchive('a header is damaged');
  return Number.parseInt(text, 8);
}

function parsePax(bytes: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const [digits = ''] = /^[1-9]\d{0,5}(?= )/.exec(rest) ?? [];
    const record = rest.slice(digits.length + 1, Number(digits));
    const equals = record.indexOf('=');
    if (digits === '' || Number(digits) > rest.length || equals < 1 || !record.endsWith('\n'))
      throw badArchive('a header is damaged');
    found.set(record.slice(0, equals), record.slice(equals + 1, -1));
    rest = rest.slice(Number(digits));
  }
  return found;
}

function paxSize(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw badArchive('a header is damaged');
  return Number(text);
}

function toEntry(block: Buffer, pax: ReadonlyMap<string, string>): TarEntry {
  const type = textAt(block, 156, 1);
  const kind = kindOf[type];
  if (kind === undefined) throw badArchive('it has an entry that is neither a file nor a folder nor a link');
  const bytes = pax.has('size') ? paxSize(pax.get('size') ?? '') : numberAt(block, 124, 12);
  if (kind !== 'file' && bytes !== 0) throw badArchive('a header is damaged');
  return {
    path: (pax.get('path') ?? textAt(block, 0, nameBytesMax)).replace(/\/$/, ''),
    kind,
    bytes,
    mode: numberAt(block, 100, 8) & modeBits,
    modifiedS: numberAt(block, 136, 12),
    ...(kind === 'link' ? { target: pax.get('linkpath') ?? textAt(block, 157, nameBytesMax) } : {}),
  };
}

async function takeHeaderBlock(reader: ByteReader, raw: Buffer[]): Promise<Buffer> {
  const block = await reader.take(blockBytes);
  raw.push(block);
  if (block.every((byte) => byte === 0)) return block;
  if (numberAt(block, 148, 8) !== checksumOf(block)) throw badArchive('a header is damaged');
  return block;
}

/** The next entry with the bytes of its header; undefined at the end. The caller then reads its content and padding. */
export async function readTarHeader(
  reader: ByteReader,
): Promise<{ readonly entry: TarEntry; readonly header: Buffer } | undefined> {
  const raw: Buffer[] = [];
  let block = await takeHeaderBlock(reader, raw);
  if (block.every((byte) => byte === 0)) return undefined;
  let pax: ReadonlyMap<string, string> = new Map();
  if (textAt(block, 156, 1) === 'x') {
    const bytes = numberAt(block, 124, 12);
    if (bytes > paxBytesMax) throw badArchive('a header is too long');
    const padded = await reader.take(bytes + paddingOf(bytes).length);
    raw.push(padded);
    pax = parsePax(padded.subarray(0, bytes));
    block = await takeHeaderBlock(reader, raw);
  }
  return { entry: toEntry(block, pax), header: Buffer.concat(raw) };
}

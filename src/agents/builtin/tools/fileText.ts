// Files as tools meet them: what kind each is, and its whole text where it is text and not too large.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { ToolFailure } from './failure.ts';
import type { ToolUse } from './tool.ts';

/** Files that are changed are held in memory, and shown to whoever is asked. */
export const changedBytesMax = 2_000_000;
/** Longer ones the system refuses anyway. */
export const pathCharsMax = 4_096;
/** Where binary files have their first zero byte, as git has it. */
export const sniffBytes = 8_000;

export function absolute(path: string, use: Pick<ToolUse, 'cwd'>): string {
  return resolve(use.cwd, path);
}

/** As the model writes it: below the workspace where it is there. */
export function shownPath(path: string, use: Pick<ToolUse, 'cwd'>): string {
  const below = relative(use.cwd, path);
  return below === '' ? '.' : below.startsWith('..') ? path : below;
}

const sentences: Readonly<Record<string, string>> = {
  EACCES: 'it is not allowed',
  EPERM: 'it is not allowed',
  EROFS: 'it is on a read-only file system',
  ENOTDIR: 'a part of its path is a file, not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
};

/** The sentence for an error of the file system. */
export function fileFailure(doing: string, error: unknown): ToolFailure {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new ToolFailure(`${doing} failed: ${sentences[code] ?? message}.`);
}

export function kindOf(stats: Stats): string {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'folder';
  if (stats.isFIFO()) return 'named pipe';
  if (stats.isSocket()) return 'socket';
  return 'device';
}

/** Of what a link leads to. Undefined: there is nothing. */
export async function findStats(path: string, doing: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileFailure(doing, error);
  }
}

/** Opens it to be read. Should it have become a pipe meanwhile, nobody waits for its other end. */
export async function withFile<Value>(
  path: string,
  doing: string,
  work: (file: FileHandle) => Promise<Value>,
): Promise<Value> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return await work(file);
  } catch (error) {
    throw error instanceof ToolFailure ? error : fileFailure(doing, error);
  }
}

/** So many of its first bytes, or all. */
export async function readStart(file: FileHandle, bytesMax: number): Promise<Buffer> {
  const bytes = Buffer.alloc(bytesMax);
  let length = 0;
  while (length < bytesMax) {
    const { bytesRead } = await file.read(bytes, length, bytesMax - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

export function isBinary(start: Buffer): boolean {
  return start.subarray(0, sniffBytes).includes(0);
}

/**
 * The whole text of a file that is to be changed, byte order mark and all, so that it can be written back unharmed.
 * Refuses what is no regular file, too large, binary or not in UTF-8.
 */
export async function readWhole(path: string, shown: string, stats: Stats): Promise<string> {
  const doing = `Reading ${shown}`;
  if (!stats.isFile()) throw new ToolFailure(`${shown} is a ${kindOf(stats)}, not a file.`);
  const tooLarge = new ToolFailure(
    `${shown} is larger than ${changedBytesMax} bytes, which this tool does not change. Use bash (sed, or a script).`,
  );
  if (stats.size > changedBytesMax) throw tooLarge;
  const bytes = await withFile(path, doing, (file) => readStart(file, changedBytesMax + 1));
  if (bytes.length > changedBytesMax) throw tooLarge;
  if (isBinary(bytes))
    throw new ToolFailure(
      `${shown} is a binary file, which this tool does not change. Use bash; to make a new file in its place, remove it first.`,
    );
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolFailure(
      `${shown} is not in UTF-8, and this tool would harm it. Use bash (iconv shows and converts it).`,
    );
  }
}

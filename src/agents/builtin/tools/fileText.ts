// Reads files for tools: their kind, and their whole text if it is text and not too large.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { ToolFailure } from './failure.ts';
import type { ToolUse } from './tool.ts';

/** Files to be changed are held in memory and shown in approval requests. */
export const changedBytesMax = 2_000_000;
/** The system refuses longer paths anyway. */
export const pathCharsMax = 4_096;
/** Binary files have a zero byte in this part, as in git. */
export const sniffBytes = 8_000;

export function absolute(path: string, use: Pick<ToolUse, 'cwd'>): string {
  return resolve(use.cwd, path);
}

/** Returns the path for the model: relative if it is in the workspace. */
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

/** Returns a sentence for an error of the file system. */
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

/** Returns the stats of the target of links; undefined if there is none. */
export async function findStats(path: string, doing: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileFailure(doing, error);
  }
}

/** Opens the file for reading. It does not wait for a writer if the path has become a pipe. */
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

/** Reads the first bytes of the file, or all of it. */
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
 * Reads the whole text of a file to be changed, including its byte order mark, so that it can be written back. Refuses
 * anything that is not a regular file, too large, binary or not in UTF-8.
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

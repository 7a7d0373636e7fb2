// Reads files without ever leaving a folder, whatever links are in it.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { join, sep } from 'node:path';
import type { Refusal } from './request.ts';

export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal);
    this.refusal = refusal;
  }
}

function isWithin(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** The real path; undefined if there is nothing or a link leads out. `root` must be a real path. */
export function locate(root: string, path: string): string | undefined {
  try {
    const real = realpathSync(join(root, path));
    return isWithin(root, real) ? real : undefined;
  } catch {
    return undefined;
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

export type Kind = 'file' | 'folder' | 'link' | 'other';

/** The kind of a file, without following links; undefined if there is nothing that can be read. */
export function kindOf(path: string): Kind | undefined {
  const stats = statsOf(path);
  if (stats === undefined) return undefined;
  if (stats.isSymbolicLink()) return 'link';
  if (stats.isDirectory()) return 'folder';
  return stats.isFile() ? 'file' : 'other';
}

/** Opens a regular file, and nothing that has replaced it, such as a link or a pipe. Returns undefined if it cannot. */
export function openFile(path: string | Buffer): number | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return undefined;
}

/** The bytes of the file at `path`, which may contain links; undefined if there is none. */
export function readContained(root: string, path: string, bytesMax: number): Buffer | undefined {
  return readBounded(root, path, (size) => {
    if (size > bytesMax) throw new Refused('too_large');
    return size;
  });
}

/** Reads at most `bytesMax` from the beginning of a file of any size. */
export function readBeginning(root: string, path: string, bytesMax: number): Buffer | undefined {
  return readBounded(root, path, (size) => Math.min(size, bytesMax));
}

function readBounded(root: string, path: string, bytesOf: (size: number) => number): Buffer | undefined {
  const real = locate(root, path);
  const fd = real === undefined ? undefined : openFile(real);
  if (fd === undefined) return undefined;
  try {
    const size = bytesOf(fstatSync(fd).size);
    const bytes = Buffer.alloc(size);
    let length = 0;
    for (let read = -1; read !== 0 && length < size; length += read)
      read = readSync(fd, bytes, length, size - length, null);
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

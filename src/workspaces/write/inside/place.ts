// Gives complete files their names in a folder. Nothing that exists is replaced, and no link is followed.
import { closeSync, constants, fstatSync, linkSync, openSync, readSync, unlinkSync } from 'node:fs';
import { extname } from 'node:path';

const suffixesMax = 1_000;
const pieceBytes = 65_536;

/** `notes.txt`, `notes (1).txt`, `notes (2).txt`, … */
function* namesLike(name: string): Generator<string> {
  const extension = extname(name);
  const stem = name.slice(0, name.length - extension.length);
  yield name;
  for (let i = 1; i < suffixesMax; i++) yield `${stem} (${i})${extension}`;
}

/** Undefined unless it is a regular file that can be read. */
function openRegular(path: string): number | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd;
    closeSync(fd);
  } catch {
    // It is a link, or cannot be read.
  }
  return undefined;
}

function readPiece(fd: number, into: Buffer): Buffer {
  let length = 0;
  for (let read = -1; read !== 0 && length < into.length; length += read)
    read = readSync(fd, into, length, into.length - length, null);
  return into.subarray(0, length);
}

function isSameContent(one: number, other: number): boolean {
  if (fstatSync(one).size !== fstatSync(other).size) return false;
  const [left, right] = [Buffer.alloc(pieceBytes), Buffer.alloc(pieceBytes)];
  for (;;) {
    const piece = readPiece(one, left);
    if (!piece.equals(readPiece(other, right))) return false;
    if (piece.length < pieceBytes) return true;
  }
}

function holdsSame(partial: string, path: string): boolean {
  const fds = [openRegular(partial), openRegular(path)] as const;
  try {
    const [one, other] = fds;
    return one !== undefined && other !== undefined && isSameContent(one, other);
  } finally {
    for (const fd of fds) if (fd !== undefined) closeSync(fd);
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Moves the file to the first free name like this one. A file that is there already with the same content is used
 * instead, so that the same upload can be repeated. Returns undefined if too many names are taken.
 */
export function placeFile(
  partial: string,
  name: string,
): { readonly name: string; readonly isNew: boolean } | undefined {
  for (const candidate of namesLike(name)) {
    const isNew = tryLink(partial, candidate);
    if (!isNew && !holdsSame(partial, candidate)) continue;
    unlinkSync(partial);
    return { name: candidate, isNew };
  }
  return undefined;
}

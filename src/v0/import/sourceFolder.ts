// Reads a folder that somebody else wrote: links are not followed, nothing is opened for writing, and every file has a
// maximum size.
import {
  closeSync,
  constants,
  type Dir,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';

const readOnly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const entriesAtOnce = 1_000;

/** `unreadable` stands for the entries of a folder that cannot be listed; it has no name. */
export interface SourceEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other' | 'unreadable';
}

/** Why something cannot be imported: the end of a sentence that begins with its name. It never quotes content. */
export interface Fault {
  readonly fault: string;
}

export function isFault(value: unknown): value is Fault {
  return typeof value === 'object' && value !== null && 'fault' in value;
}

/** A real folder, not a link to one. Names come from its own entries or are constants, so they contain no `/`. */
export interface SourceFolder {
  /** Relative to the root, for reports. */
  readonly path: string;
  entries(): Generator<SourceEntry, void>;
  /** Undefined if there is no such folder. */
  folder(name: string): SourceFolder | undefined;
  /** Undefined if there is no such file. */
  read(name: string, bytesMax: number): Buffer | Fault | undefined;
  /** Undefined if there is nothing of that name. */
  kind(name: string): SourceEntry['kind'] | undefined;
  /** When the file was changed; undefined if there is none. */
  changedAtMs(name: string): number | undefined;
}

function readWhole(fd: number, bytesMax: number): Buffer | Fault {
  const found = fstatSync(fd);
  if (!found.isFile()) return { fault: 'is not a file' };
  if (found.size > bytesMax) return { fault: `is larger than ${bytesMax} bytes` };
  const bytes = Buffer.alloc(found.size);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(fd, bytes, length, bytes.length - length, null);
  return bytes.subarray(0, length);
}

function readFile(path: string, bytesMax: number): Buffer | Fault | undefined {
  let fd: number;
  try {
    fd = openSync(path, readOnly);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    return { fault: code === 'ELOOP' ? 'is a link, which is not followed' : `cannot be read (${code})` };
  }
  try {
    return readWhole(fd, bytesMax);
  } catch (error) {
    return { fault: `cannot be read (${(error as NodeJS.ErrnoException).code})` };
  } finally {
    closeSync(fd);
  }
}

function kindOf(entry: Dirent | Stats): SourceEntry['kind'] {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  return entry.isSymbolicLink() ? 'link' : 'other';
}

function openEntries(path: string): Dir | undefined {
  try {
    return opendirSync(path, { bufferSize: entriesAtOnce });
  } catch {
    return undefined;
  }
}

function* entriesOf(path: string): Generator<SourceEntry, void> {
  const folder = openEntries(path);
  if (folder === undefined) return yield { name: '', kind: 'unreadable' };
  try {
    for (let entry = folder.readSync(); entry !== null; entry = folder.readSync())
      yield { name: entry.name, kind: kindOf(entry) };
  } finally {
    folder.closeSync();
  }
}

function statsOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** `real` must be the real path of a folder. */
export function openSourceFolder(real: string, path = ''): SourceFolder {
  return {
    path,
    entries: () => entriesOf(real),
    folder: (name) =>
      statsOf(join(real, name))?.isDirectory()
        ? openSourceFolder(join(real, name), join(path, name))
        : undefined,
    kind: (name) => {
      const stats = statsOf(join(real, name));
      return stats && kindOf(stats);
    },
    read: (name, bytesMax) => readFile(join(real, name), bytesMax),
    changedAtMs: (name) => statsOf(join(real, name))?.mtimeMs,
  };
}

// Reads the files of conversations for a backup while agents may change them. Nothing outside of the folder is read, even
// if an agent replaces a folder by a link meanwhile: each step starts at the open folder, never at a path.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import { paddingOf, type TarEntry, tarHeader } from './tar.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
const pieceBytes = 1_048_576;
/** Each level holds a file descriptor. */
const depthMax = 200;
/** A restore must be able to create it in a folder of its own. */
const pathBytesMax = 3_500;
const descriptors = '/proc/self/fd';
/** Elsewhere than on Linux, paths have to do. */
const hasDescriptors = existsSync(descriptors);

export interface TreeLimits {
  readonly bytesMax: number;
  readonly entriesMax: number;
}

interface TreeOptions extends TreeLimits {
  readonly onLeftOut: (path: string, why: string) => void;
  /** Called for each entry with the size of its content. */
  readonly onEntry: (bytes: number) => void;
}

interface OpenFolder {
  readonly fd: number;
  /** Where system calls find it. */
  readonly location: string;
  /** Its path in the archive. */
  readonly path: string;
  readonly depth: number;
}

const isGone = (error: unknown) => ['ENOENT', 'ELOOP', 'ENOTDIR'].includes(codeOf(error));
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? 'failed';
/** Names are bytes; latin1 keeps each of them as one character. */
const bytesOf = (name: string) => Buffer.from(name, 'latin1');

function openFolder(location: string | Buffer, path: string, depth: number): OpenFolder {
  const fd = openSync(location, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const found = hasDescriptors ? `${descriptors}/${fd}` : location.toString('latin1');
  return { fd, location: found, path, depth };
}

function entryOf(path: string, kind: TarEntry['kind'], found: Stats, bytes = 0, target?: string): TarEntry {
  const modifiedS = Math.floor(found.mtimeMs / 1_000);
  return { path, kind, bytes, mode: found.mode, modifiedS, ...(target === undefined ? {} : { target }) };
}

/**
 * The content of a file with exactly `bytes`, because the header has announced them: a file that shrinks or cannot be read
 * to its end is filled up with zeros.
 */
function* contentOf(fd: number, bytes: number, onFault: (error: unknown) => void): Generator<Buffer> {
  let isReadable = true;
  for (let left = bytes; left > 0; ) {
    const piece = Buffer.alloc(Math.min(left, pieceBytes));
    try {
      let filled = 0;
      for (let read = 1; isReadable && read > 0 && filled < piece.length; filled += read)
        read = readSync(fd, piece, filled, piece.length - filled, null);
    } catch (error) {
      isReadable = false;
      onFault(error);
    }
    yield piece;
    left -= piece.length;
  }
  yield paddingOf(bytes);
}

/** The entries of a folder and everything below it, without the folder itself. Files that disappear meanwhile are left out. */
export function* readTree(root: string, prefix: string, options: TreeOptions): Generator<Buffer> {
  let [bytesLeft, entriesLeft] = [options.bytesMax, options.entriesMax];

  function* readFile(location: Buffer, path: string): Generator<Buffer> {
    const fd = openSync(location, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const found = fstatSync(fd);
      if (!found.isFile()) return;
      if (found.size > bytesLeft)
        return options.onLeftOut(path, 'the files of the conversation are larger than PARLEY_WORKSPACE_MB');
      bytesLeft -= found.size;
      yield tarHeader(entryOf(path, 'file', found, found.size));
      yield* contentOf(fd, found.size, (error) =>
        options.onLeftOut(path, `it cannot be read to its end (${codeOf(error)})`),
      );
      options.onEntry(found.size);
    } finally {
      closeSync(fd);
    }
  }

  function* readFolder(folder: OpenFolder): Generator<Buffer> {
    for (const name of readdirSync(folder.location, { encoding: 'latin1' }).sort()) {
      const path = `${folder.path}/${name}`;
      if (entriesLeft <= 0) return options.onLeftOut(folder.path, 'the conversation has too many files');
      if (path.length > pathBytesMax) {
        options.onLeftOut(path, 'its path is too long');
        continue;
      }
      try {
        yield* readChild(folder, name, path);
      } catch (error) {
        if (!isGone(error)) options.onLeftOut(path, `it cannot be read (${codeOf(error)})`);
      }
    }
  }

  function* readChild(folder: OpenFolder, name: string, path: string): Generator<Buffer> {
    const location = Buffer.concat([Buffer.from(`${folder.location}/`), bytesOf(name)]);
    const found = lstatSync(location);
    if (found.isFile()) {
      entriesLeft -= 1;
      yield* readFile(location, path);
    } else if (found.isSymbolicLink()) {
      entriesLeft -= 1;
      yield tarHeader(entryOf(path, 'link', found, 0, readlinkSync(location, 'latin1')));
      options.onEntry(0);
    } else if (found.isDirectory()) {
      entriesLeft -= 1;
      yield* readSubfolder(folder, location, path);
    }
    // Sockets and pipes have no content.
  }

  function* readSubfolder(folder: OpenFolder, location: Buffer, path: string): Generator<Buffer> {
    if (folder.depth >= depthMax) return options.onLeftOut(path, 'it is nested too deeply');
    const child = openFolder(location, path, folder.depth + 1);
    try {
      yield tarHeader(entryOf(path, 'folder', fstatSync(child.fd)));
      options.onEntry(0);
      yield* readFolder(child);
    } finally {
      closeSync(child.fd);
    }
  }

  let top: OpenFolder;
  try {
    top = openFolder(root, prefix, 0);
  } catch (error) {
    if (isGone(error)) return;
    throw error;
  }
  try {
    yield tarHeader(entryOf(prefix, 'folder', fstatSync(top.fd)));
    options.onEntry(0);
    yield* readFolder(top);
  } finally {
    closeSync(top.fd);
  }
}

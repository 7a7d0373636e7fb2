// Writes the files of a backup below a new folder. No entry can leave it: each folder on the way must be one that was
// created here, and nothing is replaced.
import { chmod, lstat, mkdir, open, symlink } from 'node:fs/promises';
import { badArchive, type TarEntry } from './tar.ts';

const folderMode = 0o700;
/** The owner must be able to enter and fill a folder while its contents follow. */
const ownerBits = 0o700;
const bytesOf = (path: string) => Buffer.from(path, 'latin1');

export interface TreeWriter {
  /** The path of the entry must be safe: see `isSafePath`. */
  write(entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void>;
  /** Sets the modes of folders that nothing could have been written into. */
  finish(): Promise<void>;
}

/** `root` must exist and be empty, and nobody else may write to it. */
export function createTreeWriter(root: string): TreeWriter {
  const locate = (path: string) => Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)]);
  const lockedFolders: { readonly path: string; readonly mode: number }[] = [];
  /** The last folder that was found to be real. Entries of one folder follow each other. */
  let checked = '';

  /** Creates what is missing. A link on the way is refused. */
  async function ensureFolders(path: string): Promise<void> {
    if (path === '' || path === checked) return;
    let reached = '';
    for (const step of path.split('/')) {
      reached = reached === '' ? step : `${reached}/${step}`;
      await mkdir(locate(reached), { mode: folderMode }).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        if (!(await lstat(locate(reached))).isDirectory())
          throw badArchive('it has an entry below one that is not a folder');
      });
    }
    checked = path;
  }

  async function writeFolder({ path, mode }: TarEntry): Promise<void> {
    await ensureFolders(path);
    if ((mode & ownerBits) === ownerBits) await chmod(locate(path), mode);
    else lockedFolders.push({ path, mode });
  }

  async function writeFile(
    { path, mode, modifiedS }: TarEntry,
    content: AsyncIterable<Buffer>,
  ): Promise<void> {
    const file = await open(locate(path), 'wx', 0o600);
    try {
      for await (const piece of content) await file.writeFile(piece);
      await file.chmod(mode);
      await file.utimes(modifiedS, modifiedS);
    } finally {
      await file.close();
    }
  }

  async function write(entry: TarEntry, content: AsyncIterable<Buffer>): Promise<void> {
    if (entry.kind === 'folder') return writeFolder(entry);
    await ensureFolders(entry.path.split('/').slice(0, -1).join('/'));
    try {
      if (entry.kind === 'link') await symlink(bytesOf(entry.target ?? ''), locate(entry.path));
      else await writeFile(entry, content);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST')
        throw badArchive('it has two entries with the same path');
      throw error;
    }
  }

  return {
    write,
    finish: async () => {
      // The deepest come first, because their parents may not be entered afterwards.
      for (const { path, mode } of lockedFolders.toReversed()) await chmod(locate(path), mode);
    },
  };
}

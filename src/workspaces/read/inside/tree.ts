// Lists the files and folders of a workspace: one folder for clients, or the whole tree for an archive.
import { type Dir, type Dirent, lstatSync, opendirSync } from 'node:fs';
import { join } from 'node:path';
import { locate, Refused } from './contained.ts';
import type { InspectionBounds } from './request.ts';

/** Left out of lists. They can still be requested by name. */
const unlisted = new Set(['.git', '.DS_Store', 'node_modules', '.venv', 'lost+found', '.vscode']);
const repositoryFolder = Buffer.from('.git');

export function* entriesOf<Name extends string | Buffer>(
  folder: string | Buffer,
  encoding: 'utf8' | 'buffer',
) {
  // The types of Node only know names as strings here.
  const dir: Dir = opendirSync(folder, { encoding: encoding as BufferEncoding });
  try {
    for (let entry = dir.readSync(); entry !== null; entry = dir.readSync())
      yield entry as unknown as Omit<Dirent, 'name'> & { readonly name: Name };
  } finally {
    dir.closeSync();
  }
}

function leadsToFolder(root: string, path: string): boolean {
  const real = locate(root, path);
  return real !== undefined && lstatSync(real, { throwIfNoEntry: false })?.isDirectory() === true;
}

function byName(a: string, b: string): number {
  const [left, right] = [a.toLowerCase(), b.toLowerCase()];
  return left === right ? (a < b ? -1 : 1) : left < right ? -1 : 1;
}

/** The paths in a folder: folders first, with a trailing slash. */
export function listFolder(root: string, path: string, { entriesMax }: InspectionBounds): string[] {
  if (!leadsToFolder(root, path)) throw new Refused('missing');
  const folders: string[] = [];
  const files: string[] = [];
  for (const entry of entriesOf<string>(locate(root, path) as string, 'utf8')) {
    if (unlisted.has(entry.name)) continue;
    const own = join(path, entry.name);
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && leadsToFolder(root, own));
    (isFolder ? folders : files).push(isFolder ? `${own}/` : own);
    if (folders.length + files.length > entriesMax) throw new Refused('too_large');
  }
  return [...folders.sort(byName), ...files.sort(byName)];
}

/** Empty if the folder cannot be read or was deleted. */
function* readableEntriesOf(folder: Buffer) {
  try {
    yield* entriesOf<Buffer>(folder, 'buffer');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
  }
}

export interface TreeEntry {
  /** Relative to the workspace, in bytes, because names need not be text. Folders end with a slash. */
  readonly name: Buffer;
  readonly place: Buffer;
  readonly isFolder: boolean;
}

const slash = Buffer.from('/');

/** All regular files and folders in the order of their bytes, without links and repositories. */
export function listTree(root: string, { zipEntriesMax, zipBytesMax }: InspectionBounds): TreeEntry[] {
  const found: TreeEntry[] = [];
  const waiting: Buffer[] = [Buffer.alloc(0)];
  const start = Buffer.from(root.endsWith('/') ? root : `${root}/`);
  let bytes = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop())
    for (const entry of readableEntriesOf(Buffer.concat([start, folder]))) {
      const isFolder = entry.isDirectory();
      if (entry.name.equals(repositoryFolder) || !(isFolder || entry.isFile())) continue;
      const own = Buffer.concat([folder, entry.name]);
      const name = isFolder ? Buffer.concat([own, slash]) : own;
      const place = Buffer.concat([start, own]);
      found.push({ name, place, isFolder });
      if (isFolder) waiting.push(name);
      else bytes += lstatSync(place, { throwIfNoEntry: false })?.size ?? 0;
      if (found.length > zipEntriesMax || bytes > zipBytesMax) throw new Refused('too_large');
    }
  return found.sort((a, b) => a.name.compare(b.name));
}

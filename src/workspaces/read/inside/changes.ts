// What has changed in a workspace since the conversation began.
import { readdirSync, readlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { kindOf, locate, Refused, readContained } from './contained.ts';
import { withoutPipes } from './pipes.ts';
import { closestRepository, hasRepository, openRepository, type Repository } from './repository.ts';
import type { InspectionBounds } from './request.ts';
import { toText } from './text.ts';

/** Repositories that were cloned into folders of the workspace. */
const repositoriesMax = 32;

export interface Change {
  readonly status: string;
  readonly path: string;
}

/** The letters that older clients know. Everything else counts as modified, such as a conflict. */
const letters: Readonly<Record<string, string>> = { A: 'A', D: 'D' };

function splitNul(bytes: Buffer): string[] {
  return bytes.toString().split('\0').slice(0, -1);
}

const diffOptions = [
  ...['--name-status', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'],
  // Git would run git in each submodule, with its configuration.
  '--ignore-submodules=all',
];

async function statuses(repository: Repository, ...args: string[]): Promise<Map<string, string>> {
  const words = splitNul(await repository.git('diff', ...diffOptions, ...args, '--'));
  const byPath = new Map<string, string>();
  for (let i = 0; i + 1 < words.length; i += 2) {
    const [status = '', path = ''] = words.slice(i, i + 2);
    byPath.set(path, letters[status] ?? 'M');
  }
  return byPath;
}

/**
 * Compares start with index, then index with files. Comparing start with files directly would read contents that a
 * partial clone does not have.
 */
async function changesIn(repository: Repository): Promise<Change[]> {
  const byPath = await statuses(repository, '--cached', await repository.base());
  for (const [path, status] of await statuses(repository)) {
    if (status !== 'D') byPath.set(path, byPath.get(path) ?? status);
    else if (byPath.get(path) === 'A') byPath.delete(path);
    else byPath.set(path, 'D');
  }
  // Only the .gitignore files of the tree count, which reviewers can see: .git/info/exclude would hide files from them.
  const others = await repository.git('ls-files', '--others', '-z', '--exclude-per-directory=.gitignore');
  for (const path of splitNul(others)) byPath.set(path, byPath.has(path) ? 'M' : 'A');
  return [...byPath].map(([path, status]) => ({ status, path }));
}

function clonedFolders(root: string): string[] {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const cloned = folders.map(({ name }) => name).filter((name) => hasRepository(root, name));
  return cloned.slice(0, repositoriesMax);
}

/** Undefined if the repository of the folder cannot be read: the list then shows it as the workspace's own does. */
async function changesInFolder(root: string, folder: string, bounds: InspectionBounds) {
  try {
    const changes = await changesIn(openRepository(root, folder, bounds));
    return changes.map(({ status, path }) => ({ status, path: `${folder}/${path}` }));
  } catch (error) {
    const isOdd = error instanceof Refused && error.refusal === 'odd_repository';
    if (isOdd || (error as NodeJS.ErrnoException).syscall !== undefined) return undefined;
    throw error;
  }
}

async function gatherChanges(root: string, bounds: InspectionBounds): Promise<Change[]> {
  const cloned = clonedFolders(root);
  const hasOwn = hasRepository(root, '.');
  if (!hasOwn && cloned.length === 0) throw new Refused('no_repository');
  const own = hasOwn ? await changesIn(openRepository(root, '.', bounds)) : [];
  const byFolder = new Map<string, readonly Change[]>();
  for (const folder of cloned) {
    const changes = await changesInFolder(root, folder, bounds);
    if (changes !== undefined) byFolder.set(folder, changes);
    else if (!hasOwn) byFolder.set(folder, [{ status: 'A', path: `${folder}/` }]);
  }
  // Changes of a folder with its own repository are listed by that.
  const outside = own.filter(({ path }) => !byFolder.has(path.split('/')[0] ?? '') || !path.includes('/'));
  return [...outside, ...[...byFolder.values()].flat()];
}

export async function listChanges(root: string, bounds: InspectionBounds): Promise<Change[]> {
  const changes = await withoutPipes(root, () => gatherChanges(root, bounds));
  if (changes.length > bounds.entriesMax) throw new Refused('too_large');
  return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function readOriginal(repository: Repository, path: string, bytesMax: number) {
  const listed = await repository.git('ls-tree', '-z', await repository.base(), '--', path);
  const [, hash] = /^\d+ blob ([0-9a-f]+)\t/.exec(listed.toString()) ?? [];
  if (hash === undefined) return undefined;
  const size = await repository.git('cat-file', '-s', hash).catch((error: unknown) => {
    throw error instanceof Refused && error.refusal === 'odd_repository' ? new Refused('not_fetched') : error;
  });
  if (Number(size.toString()) > bytesMax) throw new Refused('too_large');
  return repository.git('cat-file', 'blob', hash);
}

/** The content as git stores it: for a link, its target. */
function readModified(root: string, path: string, bytesMax: number): Buffer | undefined {
  const folder = locate(root, dirname(path));
  if (folder === undefined) return undefined;
  const place = join(folder, basename(path));
  if (kindOf(place) === 'link') return readlinkSync(place, { encoding: 'buffer' });
  return readContained(root, relative(root, place), bytesMax);
}

/** A file before and after; empty if it is new or deleted. */
export async function readDiff(root: string, path: string, bounds: InspectionBounds) {
  const { fileBytesMax } = bounds;
  const folder = closestRepository(root, path);
  const repository = openRepository(root, folder, bounds);
  const original = await withoutPipes(join(root, folder, '.git'), () =>
    readOriginal(repository, relative(folder, path), fileBytesMax),
  );
  const modified = readModified(root, path, fileBytesMax);
  if (original === undefined && modified === undefined) throw new Refused('missing');
  return { modified: toText(modified ?? Buffer.alloc(0)), original: toText(original ?? Buffer.alloc(0)) };
}

// What has changed in a workspace since the conversation began.
import { readdirSync, readlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { kindOf, locate, Refused, readContained } from './contained.ts';
import { closestRepository, hasRepository, openRepository, type Repository } from './repository.ts';
import type { LookBounds } from './request.ts';
import { toText } from './text.ts';

/** Beside the workspace itself: folders in it that were cloned. */
const repositoriesMax = 32;

export interface Change {
  readonly status: string;
  readonly path: string;
}

/** As older clients know them. The rest is modified: a new kind of file, a conflict (which U is not, to them). */
const letters: Readonly<Record<string, string>> = { A: 'A', D: 'D' };

function splitNul(bytes: Buffer): string[] {
  return bytes.toString().split('\0').slice(0, -1);
}

const diffOptions = [
  ...['--name-status', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'],
  // Git would run another git inside of each, with the configuration of that.
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
  const excludes = repository.excludes === undefined ? [] : [`--exclude-from=${repository.excludes}`];
  const others = await repository.git('ls-files', '--others', '-z', '--exclude-standard', ...excludes);
  for (const path of splitNul(others)) byPath.set(path, byPath.has(path) ? 'M' : 'A');
  return [...byPath].map(([path, status]) => ({ status, path }));
}

function clonedFolders(root: string): string[] {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const cloned = folders.map(({ name }) => name).filter((name) => hasRepository(root, name));
  if (cloned.length > repositoriesMax) throw new Refused('too_large');
  return cloned;
}

export async function listChanges(root: string, { entriesMax }: LookBounds): Promise<Change[]> {
  const cloned = clonedFolders(root);
  const hasOwn = hasRepository(root, '.');
  if (!hasOwn && cloned.length === 0) throw new Refused('no_repository');
  const own = hasOwn ? await changesIn(openRepository(root, '.')) : [];
  // A folder with a repository of its own tells its changes itself.
  const changes = own.filter(({ path }) => !cloned.some((folder) => path.startsWith(`${folder}/`)));
  for (const folder of cloned)
    for (const { status, path } of await changesIn(openRepository(root, folder)))
      changes.push({ status, path: `${folder}/${path}` });
  if (changes.length > entriesMax) throw new Refused('too_large');
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

/** As git has it: of a link where it leads to, not what is there. */
function readModified(root: string, path: string, bytesMax: number): Buffer | undefined {
  const folder = locate(root, dirname(path));
  if (folder === undefined) return undefined;
  const place = join(folder, basename(path));
  if (kindOf(place) === 'link') return readlinkSync(place, { encoding: 'buffer' });
  return readContained(root, relative(root, place), bytesMax);
}

/** A file before and after; empty where it is new or gone. */
export async function readDiff(root: string, path: string, { fileBytesMax }: LookBounds) {
  const folder = closestRepository(root, path);
  const original = await readOriginal(openRepository(root, folder), relative(folder, path), fileBytesMax);
  const modified = readModified(root, path, fileBytesMax);
  if (original === undefined && modified === undefined) throw new Refused('missing');
  return { modified: toText(modified ?? Buffer.alloc(0)), original: toText(original ?? Buffer.alloc(0)) };
}

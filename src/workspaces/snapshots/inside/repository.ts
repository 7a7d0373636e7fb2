// What a repository has that its remote does not: objects, references, the index, and changed files.
import { join } from 'node:path';
import { Refused } from '../../read/inside/contained.ts';
import { emptyTree, openRepository, type Repository } from '../../read/inside/repository.ts';
import { readAllReferences } from './references.ts';
import { byteText, type RepositoryState, type SnapshotLimits } from './sections.ts';
import { statsOf, toPath } from './tree.ts';

const ofOrigin = 'refs/remotes/origin/';
/** What Git prints when it lists files. */
const listBytesMax = 256 * 1_024 * 1_024;
const namesMax = 500_000;
/** A signature, a version and the number of objects. */
const packHeaderBytes = 12;

export interface RepositoryContents {
  readonly state: RepositoryState;
  /** The pack with all objects that are not on the remote; undefined if there are none. */
  readonly pack: AsyncIterable<Buffer> | undefined;
  /** Tracked files that differ from the index, then untracked ones. Folders with their own repository end with a slash. */
  readonly changed: readonly string[];
  /** Whether the index now names other objects than when it was read. */
  hasNewIndex(): Promise<boolean>;
}

function splitNul(bytes: Buffer): string[] {
  return bytes.toString(byteText).split('\0').slice(0, -1);
}

const lines = (words: Iterable<string>) => Buffer.from([...words].map((word) => `${word}\n`).join(''));

/** Returns the hashes whose objects the repository has. */
async function present(repository: Repository, hashes: Iterable<string>): Promise<Set<string>> {
  const wanted = new Set(hashes);
  if (wanted.size === 0) return new Set();
  const output = await repository.run(['cat-file', '--batch-check'], { input: lines(wanted) });
  return new Set([...output.toString().matchAll(/^([0-9a-f]{40}) \w+ \d+$/gm)].map(([, one = '']) => one));
}

/** The objects that the index alone has, staged or in conflict. */
async function stagedObjects(repository: Repository, commit: string | null): Promise<string[]> {
  const options = { outputBytesMax: listBytesMax };
  const raw = [
    'diff-index',
    '--cached',
    '--raw',
    '-z',
    '--no-renames',
    '--abbrev=40',
    '--ignore-submodules=all',
  ];
  const staged = splitNul(await repository.run([...raw, commit ?? emptyTree, '--'], options));
  const unmerged = splitNul(await repository.run(['ls-files', '--unmerged', '-z'], options));
  return [
    ...staged.flatMap((line) => /^:\d+ (?!160000)\d+ [0-9a-f]+ ([0-9a-f]{40}) /.exec(line)?.[1] ?? []),
    ...unmerged.flatMap((line) => /^(?!160000)\d+ ([0-9a-f]{40}) /.exec(line)?.[1] ?? []),
  ].filter((one) => !/^0+$/.test(one));
}

async function* packOf(repository: Repository, input: Buffer): AsyncGenerator<Buffer> {
  const options = ['--revs', '--stdout', '-q', '--threads=1', '--missing=allow-any'];
  const { output, ended } = repository.start(['pack-objects', ...options], input);
  yield* output;
  if (!(await ended)) throw new Refused('odd_repository');
}

interface Changes {
  readonly changed: string[];
  readonly deleted: string[];
}

/** Files whose changes Git was told to overlook count as changed. */
async function overlooked(repository: Repository): Promise<string[]> {
  const listed = splitNul(await repository.run(['ls-files', '-v', '-z'], { outputBytesMax: listBytesMax }));
  return listed.filter((line) => /^[a-zS] /.test(line)).map((line) => line.slice(2));
}

async function trackedChanges(repository: Repository, root: string): Promise<Changes> {
  const args = [
    'diff',
    '--name-only',
    '-z',
    '--no-renames',
    '--no-ext-diff',
    '--no-textconv',
    '--ignore-submodules=all',
  ];
  const differ = splitNul(await repository.run([...args, '--'], { outputBytesMax: listBytesMax }));
  const names = new Set([...differ, ...(await overlooked(repository))]);
  const changes: Changes = { changed: [], deleted: [] };
  for (const name of names) {
    const stats = statsOf(toPath(root, name));
    // Files in a folder that replaced a file are untracked.
    (stats === undefined || stats.isDirectory() ? changes.deleted : changes.changed).push(name);
  }
  return changes;
}

/** The names and objects in the index. Its other contents change whenever Git looks at files. */
function listIndex(repository: Repository): Promise<Buffer> {
  return repository.run(['ls-files', '--stage', '-z'], { outputBytesMax: listBytesMax });
}

/** Submodules that were checked out are stored like any other folder. */
function submodules(index: Buffer, root: string): string[] {
  const folders = splitNul(index).flatMap((line) => /^160000 [^\t]+\t(.*)$/s.exec(line)?.[1] ?? []);
  return folders
    .filter((name) => statsOf(toPath(root, `${name}/.git`)) !== undefined)
    .map((name) => `${name}/`);
}

async function untracked(repository: Repository): Promise<string[]> {
  // Only the .gitignore files of the tree count, as in the list of changes.
  const args = ['ls-files', '--others', '-z', '--exclude-per-directory=.gitignore'];
  return repository.readNames(args, namesMax);
}

/** Undefined if the pack has no objects. */
async function withObjects(pack: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer> | undefined> {
  const parts = pack[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  for (let length = 0; length < packHeaderBytes; ) {
    const { value, done } = await parts.next();
    if (done) return undefined;
    first.push(value);
    length += value.length;
  }
  const start = Buffer.concat(first);
  if (start.readUInt32BE(packHeaderBytes - 4) === 0) {
    while (!(await parts.next()).done);
    return undefined;
  }
  return (async function* () {
    yield start;
    yield* { [Symbol.asyncIterator]: () => parts };
  })();
}

/** Throws Refused if the repository cannot be read. */
export async function readRepository(
  root: string,
  hasRemote: boolean,
  limits: SnapshotLimits,
): Promise<RepositoryContents> {
  const repository = openRepository(root, '.', limits);
  const index = await listIndex(repository);
  const { branch, detached, byName, others } = readAllReferences(join(root, '.git'));
  const isRemote = (name: string) => hasRemote && name.startsWith(ofOrigin);
  const local = [...byName].filter(([name]) => !isRemote(name));
  const known = await present(repository, [
    ...byName.values(),
    ...others,
    ...(detached === null ? [] : [detached]),
  ]);
  const commit = detached ?? (branch === null ? null : (byName.get(branch) ?? null));
  const remote = [...byName].filter(([name, one]) => isRemote(name) && known.has(one)).map(([, one]) => one);
  const tips = [...local.map(([, one]) => one), ...others, ...(detached === null ? [] : [detached])];
  const wanted = tips.filter((one) => known.has(one));
  const staged = await present(repository, await stagedObjects(repository, commit));
  const revisions = lines([...new Set([...wanted, ...staged]), '--not', ...new Set(remote)]);
  const boundary = await repository.run(['rev-list', '--boundary', '--stdin'], {
    input: lines([...new Set([...wanted, ...remote.map((one) => `^${one}`)])]),
    outputBytesMax: listBytesMax,
  });
  const tracked = await trackedChanges(repository, root);
  const changed = [...tracked.changed, ...submodules(index, root), ...(await untracked(repository))];
  // Last, because it waits until somebody reads it. Git finds most defects before it writes anything.
  const pack =
    wanted.length + staged.size === 0 ? undefined : await withObjects(packOf(repository, revisions));
  return {
    state: {
      branch,
      commit: commit !== null && known.has(commit) ? commit : null,
      references: local.filter(([, one]) => known.has(one)),
      needs: [...boundary.toString().matchAll(/^-([0-9a-f]{40})$/gm)].map(([, one = '']) => one),
      deleted: tracked.deleted,
    },
    pack,
    changed,
    hasNewIndex: async () => !index.equals(await listIndex(repository)),
  };
}

// The state of a working tree as a patch: changed files and untracked ones that are not ignored. Neither the index nor
// the objects of the repository are written.
import { copyFileSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import { runGit } from './localGit.ts';

const mib = 1_024 * 1_024;
/** What the API accepts. */
export const patchBytesMax = 8 * mib;
/** More could not become a patch of that size, unless it is very repetitive. */
const untrackedBytesMax = 64 * mib;
const untrackedFilesMax = 10_000;
const namedMax = 3;

/** Git knows this tree even if it is not stored. */
export const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

export class TooLargeError extends RefusalError {}

export interface TreePatch {
  readonly patch: Buffer;
  readonly files: number;
  /** How many of the files are untracked. */
  readonly untracked: number;
  /** Folders that are repositories of their own, which are left out. */
  readonly nested: readonly string[];
}

interface TreeOptions {
  /** The top folder of the working tree. */
  readonly top: string;
  /** A commit, or the empty tree. */
  readonly base: string;
  /** False if untracked files stay at home. */
  readonly withUntracked: boolean;
  /** The folder has no repository: all of its files are untracked. */
  readonly isPlain: boolean;
}

/** Names are bytes; this encoding maps each byte to a character. */
const byteText = 'latin1';

function shownName(name: string): string {
  return plainLine(Buffer.from(name, byteText).toString());
}

function sizeOf(top: string, name: string): number {
  const path = Buffer.concat([Buffer.from(`${top}/`), Buffer.from(name, byteText)]);
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function checkUntracked(top: string, names: readonly string[]): void {
  const sizes = names.map((name) => ({ name, size: sizeOf(top, name) }));
  const total = sizes.reduce((sum, { size }) => sum + size, 0);
  if (total <= untrackedBytesMax && names.length <= untrackedFilesMax) return;
  const largest = sizes.toSorted((a, b) => b.size - a.size).slice(0, namedMax);
  const shown = largest.map(({ name, size }) => `${shownName(name)} (${Math.ceil(size / mib)} MiB)`);
  throw new TooLargeError(
    `The folder has ${names.length} untracked files with ${Math.ceil(total / mib)} MiB, which is too much to carry along; the largest are ${shown.join(', ')}. Add what is not needed to .gitignore.`,
  );
}

/** Alternates are separated by colons, unless they are quoted. */
function quoted(path: string): string {
  return `"${path.replaceAll(/[\\"]/g, '\\$&')}"`;
}

async function absolutePath(top: string, name: string): Promise<string> {
  const { stdout } = await runGit(top, ['rev-parse', '--path-format=absolute', '--git-path', name]);
  return stdout.toString().replace(/\n$/, '');
}

/** An environment in which git reads the repository, but writes only to `temporary`. */
async function readOnlyEnvironment({ top, isPlain }: TreeOptions, temporary: string) {
  const index = { GIT_INDEX_FILE: join(temporary, 'index'), GIT_LITERAL_PATHSPECS: '1' };
  if (isPlain) {
    await runGit(temporary, ['init', '--quiet', '--bare', 'repository.git']);
    return { ...index, GIT_DIR: join(temporary, 'repository.git'), GIT_WORK_TREE: top };
  }
  try {
    copyFileSync(await absolutePath(top, 'index'), index.GIT_INDEX_FILE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const objects = join(temporary, 'objects');
  mkdirSync(objects);
  const alternates = quoted(await absolutePath(top, 'objects'));
  return { ...index, GIT_OBJECT_DIRECTORY: objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates };
}

function splitNul(bytes: Buffer): string[] {
  return bytes.toString(byteText).split('\0').slice(0, -1);
}

/** Plumbing, so that options of the user for `git diff`, such as prefixes or colours, do not change the format. */
const diffArgs = [
  ...['diff-index', '-p', '--binary', '--full-index', '--no-renames', '--no-color'],
  ...['--no-ext-diff', '--no-textconv', '--ignore-submodules=all'],
];

async function readPatch(options: TreeOptions, env: Record<string, string>): Promise<TreePatch> {
  const { top, base, withUntracked } = options;
  const listed = withUntracked
    ? splitNul((await runGit(top, ['ls-files', '--others', '--exclude-standard', '-z'], { env })).stdout)
    : [];
  const nested = listed.filter((name) => name.endsWith('/'));
  const untracked = listed.filter((name) => !name.endsWith('/'));
  checkUntracked(top, untracked);
  if (untracked.length > 0) {
    const input = Buffer.from(untracked.map((name) => `${name}\0`).join(''), byteText);
    const paths = ['--pathspec-from-file=-', '--pathspec-file-nul'];
    await runGit(top, ['add', '--intent-to-add', ...paths], { env, input });
  }
  const { stdout: patch } = await runGit(top, [...diffArgs, base, '--'], { env });
  if (patch.length > patchBytesMax)
    throw new TooLargeError(
      `The changes of the folder are larger than ${patchBytesMax / mib} MiB as a patch. Commit and push large files, or add them to .gitignore.`,
    );
  const files = patch.toString(byteText).match(/^diff --git /gm)?.length ?? 0;
  return { patch, files, untracked: untracked.length, nested: nested.map(shownName) };
}

/** Throws TooLargeError if there is more than the API takes. */
export async function readTreePatch(options: TreeOptions): Promise<TreePatch> {
  const temporary = mkdtempSync(join(tmpdir(), 'parley-folder-'));
  try {
    return await readPatch(options, await readOnlyEnvironment(options, temporary));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

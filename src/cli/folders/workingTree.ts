// The state of a working tree as a patch: changed files and untracked ones that are not ignored.
import { lstatSync } from 'node:fs';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import { type Git, GitError } from './localGit.ts';

const mib = 1_024 * 1_024;
/** What the API accepts. */
export const patchBytesMax = 8 * mib;
/** More could not become a patch of that size, unless it is very repetitive. */
const untrackedBytesMax = 64 * mib;
const untrackedFilesMax = 10_000;
const namedMax = 3;
const shownCommitChars = 12;

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
  /** Files with names that Git does not take, such as `.GIT/config`. */
  readonly leftOut: readonly string[];
}

interface TreeOptions {
  /** It may change its index and write objects. */
  readonly git: Git;
  /** The top folder of the working tree. */
  readonly top: string;
  /** A commit, or the empty tree. */
  readonly base: string;
  /** False if untracked files are left out. */
  readonly withUntracked: boolean;
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

interface Sized {
  readonly name: string;
  readonly size: number;
}

function nameLargest(files: readonly Sized[]): string {
  const largest = files.toSorted((a, b) => b.size - a.size).slice(0, namedMax);
  return largest.map(({ name, size }) => `${shownName(name)} (${Math.ceil(size / mib)} MiB)`).join(', ');
}

/** If all files are sent, committing them does not help. */
function adviceFor(base: string): string {
  return base === emptyTree
    ? 'Add what is not needed to .gitignore, or open a smaller folder.'
    : 'Commit and push large files, or add them to .gitignore.';
}

function checkUntracked(top: string, names: readonly string[], base: string): void {
  const files = names.map((name) => ({ name, size: sizeOf(top, name) }));
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total <= untrackedBytesMax && names.length <= untrackedFilesMax) return;
  throw new TooLargeError(
    `The folder has ${names.length} untracked files with ${Math.ceil(total / mib)} MiB, which is too much to carry along; the largest are ${nameLargest(files)}. ${adviceFor(base)}`,
  );
}

/** The files of a patch, with the sizes of their parts. */
function sizesIn(patch: Buffer): Sized[] {
  const sections = patch.toString(byteText).split(/^(?=diff --git )/m);
  return sections.map((section) => ({
    name: /^diff --git "?a\/(.*?)"? "?b\/\1"?$/m.exec(section)?.[1] ?? '',
    size: section.length,
  }));
}

function splitNul(bytes: Buffer): string[] {
  return bytes.toString(byteText).split('\0').slice(0, -1);
}

/** Plumbing, so that options of the user for `git diff`, such as prefixes or colours, do not change the format. */
const diffArgs = [
  ...['diff-index', '-p', '--binary', '--full-index', '--no-renames', '--no-color'],
  ...['--no-ext-diff', '--no-textconv', '--ignore-submodules=all'],
];

/** Returns the names that Git does not add. */
async function addNames(git: Git, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const input = Buffer.from(names.map((name) => `${name}\0`).join(''), byteText);
  const args = ['add', '--intent-to-add', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul'];
  const { code } = await git(args, { env: { GIT_LITERAL_PATHSPECS: '1' }, input, allowed: [1] });
  if (code === 0) return [];
  const added = new Set(splitNul((await git(['ls-files', '-z'])).stdout));
  return names.filter((name) => !added.has(name));
}

async function readDiff(git: Git, base: string): Promise<Buffer> {
  try {
    return (await git([...diffArgs, base, '--'])).stdout;
  } catch (error) {
    if (!(error instanceof GitError) || !/unable to read/.test(error.message)) throw error;
    throw new RefusalError(
      `The repository lacks objects of the commit ${base.slice(0, shownCommitChars)}. In a partial clone, "git diff ${base.slice(0, shownCommitChars)}" fetches them.`,
    );
  }
}

/** Throws TooLargeError if there is more than the API takes. */
export async function readTreePatch({ git, top, base, withUntracked }: TreeOptions): Promise<TreePatch> {
  const listed = withUntracked
    ? splitNul((await git(['ls-files', '--others', '--exclude-standard', '-z'])).stdout)
    : [];
  const nested = listed.filter((name) => name.endsWith('/'));
  const untracked = listed.filter((name) => !name.endsWith('/'));
  checkUntracked(top, untracked, base);
  const leftOut = await addNames(git, untracked);
  const patch = await readDiff(git, base);
  if (patch.length > patchBytesMax)
    throw new TooLargeError(
      `The ${base === emptyTree ? 'files' : 'changes'} of the folder are larger than ${patchBytesMax / mib} MiB as a patch; the largest are ${nameLargest(sizesIn(patch))}. ${adviceFor(base)}`,
    );
  const files = patch.toString(byteText).match(/^diff --git /gm)?.length ?? 0;
  return {
    patch,
    files,
    untracked: untracked.length - leftOut.length,
    nested: nested.map(shownName),
    leftOut: leftOut.map(shownName),
  };
}

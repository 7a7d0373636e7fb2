// The changes of a workspace as one patch, binary files included. The repository of the workspace is not written.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kindOf, Refused } from './contained.ts';
import { withoutPipes } from './pipes.ts';
import { emptyTree, hasRepository, openRepository } from './repository.ts';
import type { InspectionBounds } from './request.ts';

const diffArgs = [
  ...['diff-index', '-p', '--binary', '--full-index', '--no-renames', '--no-color'],
  // Git would run git in each submodule, with its configuration.
  ...['--no-ext-diff', '--no-textconv', '--ignore-submodules=all'],
];

/** Names are bytes; this encoding maps each byte to a character. */
const byteText = 'latin1';
const namedMax = 100;

function splitNul(bytes: Buffer): string[] {
  return bytes.toString(byteText).split('\0').slice(0, -1);
}

/** A line that `git apply` skips. */
function leftOutLine(name: string): string {
  return `# left out: ${JSON.stringify(Buffer.from(name, byteText).toString())}\n`;
}

type Git = (args: readonly string[], input?: Buffer) => Promise<Buffer>;

/** Returns the names that Git does not add, such as `.GIT/config`, which would be `.git` on other file systems. */
async function addNames(git: Git, names: readonly string[]): Promise<string[]> {
  const input = Buffer.from(names.map((name) => `${name}\0`).join(''), byteText);
  const paths = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  await git(['add', '--force', '--intent-to-add', '--ignore-errors', ...paths], input);
  const added = new Set(splitNul(await git(['ls-files', '-z'])));
  return names.filter((name) => !added.has(name));
}

async function readPatch(root: string, from: 'base' | 'start', bounds: InspectionBounds, temporary: string) {
  const repository = openRepository(root, '.', bounds);
  const base = await repository.base();
  const since = from === 'start' ? (repository.started ?? base) : base;
  const index = join(temporary, 'index');
  mkdirSync(join(temporary, 'objects'));
  // The layout was checked: it is a regular file, if it exists.
  if (kindOf(join(root, '.git/index')) === 'file') copyFileSync(join(root, '.git/index'), index);
  const env = {
    GIT_INDEX_FILE: index,
    GIT_OBJECT_DIRECTORY: join(temporary, 'objects'),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: join(root, '.git/objects'),
  };
  const git: Git = (args, input) =>
    repository.run(args, { env, ...(input && { input }), outputBytesMax: bounds.patchBytesMax });
  // Only the .gitignore files of the tree count, which reviewers can see.
  const others = await git(['ls-files', '--others', '-z', '--exclude-per-directory=.gitignore']);
  // The name of a folder with its own repository ends with a slash.
  const untracked = splitNul(others).filter((name) => !name.endsWith('/'));
  const leftOut = untracked.length > 0 ? await addNames(git, untracked) : [];
  const patch = await git([...diffArgs, since, '--']);
  const head = [
    `# base: ${base === emptyTree ? 'none' : base}\n`,
    ...leftOut.slice(0, namedMax).map(leftOutLine),
  ];
  return Buffer.concat([Buffer.from(head.join('')), patch]);
}

/** Starts with lines that name the base commit and what was left out, which `git apply` skips. */
export async function createPatch(
  root: string,
  from: 'base' | 'start',
  bounds: InspectionBounds,
): Promise<Buffer> {
  if (!hasRepository(root, '.')) throw new Refused('no_repository');
  const temporary = mkdtempSync(join(tmpdir(), 'parley-patch-'));
  try {
    return await withoutPipes(root, () => readPatch(root, from, bounds, temporary));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

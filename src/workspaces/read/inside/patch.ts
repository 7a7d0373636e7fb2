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

/** In Git's listing, the name of a folder with its own repository ends with a slash. */
function withoutFolders(listed: Buffer): Buffer {
  const names = listed.toString('latin1').split('\0').slice(0, -1);
  return Buffer.from(names.flatMap((name) => (name.endsWith('/') ? [] : `${name}\0`)).join(''), 'latin1');
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
  const git = (args: readonly string[], input?: Buffer) =>
    repository.run(args, { env, ...(input && { input }), outputBytesMax: bounds.patchBytesMax });
  // Only the .gitignore files of the tree count, which reviewers can see.
  const others = await git(['ls-files', '--others', '-z', '--exclude-per-directory=.gitignore']);
  const untracked = withoutFolders(others);
  if (untracked.length > 0)
    await git(
      ['add', '--force', '--intent-to-add', '--pathspec-from-file=-', '--pathspec-file-nul'],
      untracked,
    );
  const patch = await git([...diffArgs, since, '--']);
  return Buffer.concat([Buffer.from(`# base: ${base === emptyTree ? 'none' : base}\n`), patch]);
}

/** Starts with a line that names the base commit, which `git apply` skips. */
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

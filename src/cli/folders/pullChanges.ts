// Applies the work of an agent to the working tree: all files or none. Files with changes of the user are kept under a
// ref before they are overwritten, and only if the user agrees.
import { copyFileSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Git } from './localGit.ts';
import { linksOut, listNames, type PulledPatch } from './pulledPatch.ts';
import { withTemporaryIndex } from './untrustedGit.ts';

const refsMax = 1_000;
const errorCharsMax = 300;
const backupIdentity = {
  ...{ GIT_AUTHOR_NAME: 'parley', GIT_AUTHOR_EMAIL: 'parley@localhost' },
  ...{ GIT_COMMITTER_NAME: 'parley', GIT_COMMITTER_EMAIL: 'parley@localhost' },
};

interface ChangesOptions {
  readonly git: Git;
  readonly patch: PulledPatch;
  /** The top folder of the repository, or the folder itself. */
  readonly top: string;
  readonly hasRepository: boolean;
  /** Whether to go on, although there are reasons not to: sentences for the user. */
  readonly mayGoOn: (reasons: readonly string[]) => Promise<boolean>;
  /** The ref that keeps files as they were, such as `refs/parley/before-01a1dd04`. If it is taken, it gets a number. */
  readonly backupRef: string;
}

export type PulledChanges =
  | { readonly outcome: 'refused' }
  /** All changes are in the files already. */
  | { readonly outcome: 'present' }
  /** `backup` is the ref that keeps the files that had changes. */
  | { readonly outcome: 'applied'; readonly backup: string | undefined };

/** The files of the patch that have changes which are not committed, or are untracked or ignored. */
async function findDirty({ git, patch, hasRepository }: ChangesOptions): Promise<string[]> {
  if (!hasRepository) return [];
  const args = [
    ...['status', '--porcelain', '-z', '--untracked-files=all', '--ignored=matching', '--no-renames'],
    // For submodules, git would run in them with their own configuration.
    '--ignore-submodules=all',
  ];
  const { stdout } = await git(args);
  const lines = stdout.toString().split('\0').slice(0, -1);
  const dirty = new Set(lines.map((line) => line.slice(3)));
  // An ignored folder is listed once, with a slash at its end.
  const folders = [...dirty].filter((path) => path.endsWith('/'));
  return patch.paths.filter((path) => dirty.has(path) || folders.some((folder) => path.startsWith(folder)));
}

function reasonsOf({ patch, hasRepository }: ChangesOptions, dirty: readonly string[]): string[] {
  const reasons: string[] = [];
  if (dirty.length > 0) reasons.push(`These files have changes that are not committed: ${listNames(dirty)}.`);
  if (patch.guarded.length > 0)
    reasons.push(`Programs on your machine act on these files by themselves: ${listNames(patch.guarded)}.`);
  if (!hasRepository) reasons.push('The folder is not a Git repository, so that there is no way back.');
  return reasons;
}

/** False if the files have all of the changes already. Throws if they do not fit. */
async function applies({ git, patch }: ChangesOptions): Promise<boolean> {
  const check = (...more: string[]) =>
    git(['apply', '--check', ...more, '-'], { input: patch.bytes, allowed: [1, 128] });
  const { code, stderr } = await check();
  if (code === 0) return true;
  if ((await check('--reverse')).code === 0) return false;
  const errors = stderr.split('\n').flatMap((line) => /^error: (.*)$/.exec(line)?.[1] ?? []);
  const why = plainLine(errors.join('; ').slice(0, errorCharsMax));
  throw new RefusalError(
    `The changes do not apply to your working tree: ${why}. Nothing was changed; without --apply they become a branch.`,
  );
}

async function gitPath(git: Git, name: string): Promise<string> {
  const { stdout } = await git(['rev-parse', '--path-format=absolute', '--git-path', name]);
  return stdout.toString().replace(/\n$/, '');
}

/** Commits these files as they are, without touching the index, the branch or the files. Returns the ref. */
function keepFiles({ git, top, backupRef }: ChangesOptions, dirty: readonly string[]): Promise<string> {
  return withTemporaryIndex(async (index) => {
    const env = { ...backupIdentity, GIT_INDEX_FILE: index, GIT_LITERAL_PATHSPECS: '1' };
    const lineOf = async (args: readonly string[]) => (await git(args, { env })).stdout.toString().trim();
    copyFileSync(await gitPath(git, 'index'), index);
    const present = dirty.filter(
      (path) => lstatSync(join(top, path), { throwIfNoEntry: false }) !== undefined,
    );
    const input = present.map((path) => `${path}\0`).join('');
    if (input !== '')
      await git(['add', '--force', '--pathspec-from-file=-', '--pathspec-file-nul'], { env, input });
    const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD'], { allowed: [1, 128] });
    const parents = head.code === 0 ? ['-p', head.stdout.toString().trim()] : [];
    const tree = await lineOf(['write-tree']);
    const commit = await lineOf(['commit-tree', ...parents, '-m', 'Before parley pull', tree]);
    for (let i = 1; i <= refsMax; i++) {
      const ref = i === 1 ? backupRef : `${backupRef}-${i}`;
      const { code } = await git(['update-ref', ref, commit, '0'.repeat(40)], { allowed: [1, 128] });
      if (code === 0) return ref;
    }
    throw new RefusalError(`There are too many refs like ${backupRef}; delete some of them.`);
  });
}

/** Throws a RefusalError if the changes cannot be applied; nothing was changed then. */
export async function pullChanges(options: ChangesOptions): Promise<PulledChanges> {
  const { git, patch, mayGoOn } = options;
  const out = linksOut(patch);
  if (out.length > 0)
    throw new RefusalError(
      `The agent has created links that lead out of the folder: ${listNames(out)}. Nothing was changed; without --apply the changes become a branch.`,
    );
  if (!(await applies(options))) return { outcome: 'present' };
  const dirty = await findDirty(options);
  const reasons = reasonsOf(options, dirty);
  if (reasons.length > 0 && !(await mayGoOn(reasons))) return { outcome: 'refused' };
  const backup = dirty.length > 0 ? await keepFiles(options, dirty) : undefined;
  await git(['apply', '-'], { input: patch.bytes });
  return { outcome: 'applied', backup };
}

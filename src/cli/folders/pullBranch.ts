// Creates a branch with the work of an agent. Neither the working tree nor the index of the user is touched, and no
// branch is moved.
import { RefusalError } from '../../errors.ts';
import type { Git } from './localGit.ts';
import type { PulledPatch } from './pulledPatch.ts';
import { withTemporaryIndex } from './untrustedGit.ts';
import { emptyTree } from './workingTree.ts';

const namesMax = 1_000;
const shownCommitChars = 12;
const agentIdentity = { GIT_AUTHOR_NAME: 'parley', GIT_AUTHOR_EMAIL: 'parley@localhost' };
const committer = { GIT_COMMITTER_NAME: 'parley', GIT_COMMITTER_EMAIL: 'parley@localhost' };

export interface PulledBranch {
  readonly branch: string;
  /** False if a branch with the same content exists already. */
  readonly isNew: boolean;
}

interface BranchOptions {
  readonly git: Git;
  readonly patch: PulledPatch;
  /** Such as `parley/01a1dd04`. If it is taken, it gets a number. */
  readonly name: string;
  readonly message: string;
}

async function lineOf(git: Git, args: readonly string[], env: Record<string, string> = {}) {
  return (await git(args, { env })).stdout.toString().trim();
}

async function findCommit(git: Git, name: string): Promise<string | undefined> {
  const { code, stdout } = await git(['rev-parse', '--verify', '--quiet', `${name}^{commit}`], {
    allowed: [1, 128],
  });
  return code === 0 ? stdout.toString().trim() : undefined;
}

/** Throws if the repository does not have the commit at which a conversation began. */
export async function getCommit(git: Git, base: string): Promise<string> {
  const commit = await findCommit(git, base);
  if (commit !== undefined) return commit;
  throw new RefusalError(
    `This repository does not have the commit ${base.slice(0, shownCommitChars)} that the conversation began at. Run this command in a clone of its repository, or run "git fetch" first.`,
  );
}

/** The commit to start from; undefined in a repository without commits. */
function findParent({ git, patch }: BranchOptions): Promise<string | undefined> {
  return patch.base === undefined ? findCommit(git, 'HEAD') : getCommit(git, patch.base);
}

/** The tree with the changes. All of them are applied, or none. */
function writeTree({ git, patch }: BranchOptions, parent: string | undefined): Promise<string> {
  return withTemporaryIndex(async (index) => {
    const env = { GIT_INDEX_FILE: index };
    await git(['read-tree', parent ?? emptyTree], { env });
    const applied = await git(['apply', '--cached', '-'], { env, input: patch.bytes, allowed: [1] });
    if (applied.code !== 0)
      throw new RefusalError(
        'The changes do not apply to the current commit of this repository. Check out the commit that you started from, or use --apply.',
      );
    return lineOf(git, ['write-tree'], env);
  });
}

async function hasCommitter(git: Git): Promise<boolean> {
  return (await git(['var', 'GIT_COMMITTER_IDENT'], { allowed: [128] })).code === 0;
}

/** Never moves a branch: the last argument makes git refuse one that exists. */
async function createBranch(git: Git, name: string, commit: string): Promise<boolean> {
  const { code } = await git(['update-ref', `refs/heads/${name}`, commit, '0'.repeat(40)], {
    allowed: [1, 128],
  });
  return code === 0;
}

export async function pullBranch(options: BranchOptions): Promise<PulledBranch> {
  const { git, name, message } = options;
  const parent = await findParent(options);
  const tree = await writeTree(options, parent);
  const env = { ...agentIdentity, ...((await hasCommitter(git)) ? {} : committer) };
  const parents = parent === undefined ? [] : ['-p', parent];
  const commit = await lineOf(git, ['commit-tree', ...parents, '-m', message, tree], env);
  for (let i = 1; i <= namesMax; i++) {
    const branch = i === 1 ? name : `${name}-${i}`;
    const existing = await findCommit(git, `refs/heads/${branch}`);
    if (existing === undefined) {
      if (await createBranch(git, branch, commit)) return { branch, isNew: true };
      throw new RefusalError(`The branch ${branch} could not be created.`);
    }
    if ((await lineOf(git, ['rev-parse', `${existing}^{tree}`])) === tree) return { branch, isNew: false };
  }
  throw new RefusalError(`Too many branches are named like ${name}; delete some of them.`);
}

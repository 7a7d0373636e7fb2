// Carries a folder of this machine to a conversation: its repository and branch, and what is not pushed as a patch.
import type { CreateConversation } from '../../client/parley.ts';
import { plainLine } from '../../text/plainText.ts';
import { type FolderLocation, findHomeRelation, locateFolder } from './folderLocation.ts';
import { withIsolatedGit } from './isolatedGit.ts';
import { findLine, type Git } from './localGit.ts';
import { type Repository, repositoryOf } from './remoteUrl.ts';
import { emptyTree, readTreePatch, TooLargeError, type TreePatch } from './workingTree.ts';

export interface PreparedFolder {
  /** Fields of the request that creates the conversation. */
  readonly creation: Pick<
    CreateConversation,
    'repository' | 'git_provider' | 'selected_branch' | 'workspace_patch' | 'client_folder'
  >;
  /** What the conversation starts with, and what it does without and why: sentences for the user. */
  readonly notes: readonly string[];
  /** The folder below the top folder of its repository, with slashes; empty if it is the top folder itself. */
  readonly subfolder: string;
}

type Prepared = Omit<PreparedFolder, 'subfolder'>;

/** Where a repository can be cloned, and what of the folder the remote has. */
interface Source extends Repository {
  readonly branch: string | undefined;
  /** The newest commit of the folder that the remote has. */
  readonly base: string;
  /** Commits that the remote does not have. */
  readonly unpushed: number;
}

const shownCommitChars = 12;
const boundariesMax = 100;

/** The remote of the current branch, or origin, or the only one. */
async function findRemoteName(git: Git, branch: string | undefined): Promise<string | undefined> {
  const names = (await git(['remote'])).stdout.toString().split('\n').filter(Boolean);
  const configured = branch && (await findLine(git, ['config', `branch.${branch}.remote`]));
  if (configured && names.includes(configured)) return configured;
  if (names.includes('origin')) return 'origin';
  return names.length === 1 ? names[0] : undefined;
}

/** The name of the branch on the remote; undefined if the remote does not have it. */
async function findRemoteBranch(git: Git, remote: string, branch: string | undefined) {
  if (branch === undefined) return undefined;
  const prefix = `refs/remotes/${remote}/`;
  const upstream = await findLine(git, ['rev-parse', '--symbolic-full-name', `${branch}@{upstream}`]);
  for (const ref of [upstream, `${prefix}${branch}`])
    if (ref?.startsWith(prefix) && (await findLine(git, ['rev-parse', '--verify', '--quiet', ref])))
      return ref.slice(prefix.length);
  return undefined;
}

/** The newest commit that both HEAD and the remote have; undefined if there is none. */
async function findBase(git: Git, remote: string): Promise<string | undefined> {
  const range = ['HEAD', '--not', `--remotes=${remote}`];
  const { stdout } = await git(['rev-list', '--boundary', ...range]);
  const lines = stdout.toString().split('\n').filter(Boolean);
  if (lines.length === 0) return findLine(git, ['rev-parse', 'HEAD']);
  const boundaries = lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1));
  if (boundaries.length === 0) return undefined;
  const [first] =
    (await findLine(git, ['merge-base', 'HEAD', ...boundaries.slice(0, boundariesMax)]))?.split('\n') ?? [];
  return first;
}

/** A sentence if the service cannot clone what the folder is based on. */
async function findSource(git: Git): Promise<Source | string> {
  if ((await findLine(git, ['rev-parse', '--verify', '--quiet', 'HEAD'])) === undefined)
    return 'The repository has no commits yet.';
  const localBranch = await findLine(git, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const remote = await findRemoteName(git, localBranch);
  const url = remote && (await findLine(git, ['remote', 'get-url', '--', remote]));
  if (!remote || url === undefined) return 'The repository has no remote to clone it from.';
  const repository = repositoryOf(url);
  if (repository === undefined) return `The remote ${plainLine(remote)} is not a repository on a Git host.`;
  const base = await findBase(git, remote);
  if (base === undefined)
    return `No commit of the folder is known to be on the remote ${plainLine(remote)}: push, or run "git fetch".`;
  const count = await findLine(git, ['rev-list', '--count', `${base}..HEAD`]);
  const branch = await findRemoteBranch(git, remote, localBranch);
  return { ...repository, branch, base, unpushed: Number(count ?? 0) };
}

function countOf(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

function noteLeftOut({ nested, leftOut }: TreePatch): string[] {
  return [
    ...(nested.length > 0
      ? [`Left out, because they are repositories of their own: ${nested.join(', ')}`]
      : []),
    ...(leftOut.length > 0 ? [`Left out, because Git does not take their names: ${leftOut.join(', ')}`] : []),
  ];
}

function describe({ files, untracked }: TreePatch): string {
  if (files === 0) return 'without changes';
  return `with ${countOf(files, 'changed file')}${untracked === 0 ? '' : `, ${untracked} of them untracked`}`;
}

function toPatch(patch: Buffer, base?: string) {
  return { ...(base === undefined ? {} : { base_commit: base }), patch: patch.toString('base64') };
}

async function fromRepository(git: Git, top: string, source: Source): Promise<Prepared> {
  const { repository, git_provider, branch, base, unpushed } = source;
  const relation = findHomeRelation(top);
  const tree = await readTreePatch({ git, top, base, withUntracked: relation === undefined });
  const at = `${branch === undefined ? '' : `branch ${plainLine(branch)}, `}commit ${base.slice(0, shownCommitChars)}`;
  return {
    creation: {
      repository,
      ...(git_provider === undefined ? {} : { git_provider }),
      ...(branch === undefined ? {} : { selected_branch: branch }),
      workspace_patch: toPatch(tree.patch, base),
    },
    notes: [
      `The workspace starts with ${repository}, ${at}, ${describe(tree)}.`,
      ...(unpushed === 0
        ? []
        : [
            `${countOf(unpushed, 'commit')} that the remote does not have: carried along as changes, not as commits.`,
          ]),
      ...(relation === undefined ? [] : [`Untracked files are left out, because the folder ${relation}.`]),
      ...noteLeftOut(tree),
    ],
  };
}

/** The files themselves, if they are small enough; otherwise nothing. */
async function fromFiles(git: Git, top: string, why: string): Promise<Prepared> {
  const empty = (reason: string) => ({
    creation: {},
    notes: [`${why} ${reason} The conversation starts with an empty workspace.`],
  });
  const relation = findHomeRelation(top);
  if (relation !== undefined) return empty(`Its files are not carried along, because it ${relation}.`);
  try {
    const tree = await readTreePatch({ git, top, base: emptyTree, withUntracked: true });
    if (tree.files === 0) return empty('The folder has no files.');
    return {
      creation: { workspace_patch: toPatch(tree.patch) },
      notes: [
        `${why} The workspace starts with a copy of its ${countOf(tree.files, 'file')}.`,
        ...noteLeftOut(tree),
      ],
    };
  } catch (error) {
    if (error instanceof TooLargeError) return empty(error.message);
    throw error;
  }
}

/** Why the files are carried along, if the service has refused the repository for this reason. */
export function refusedRepository(reason: string): string {
  return `${plainLine(reason)} Store an access token with its host in the settings to have it cloned.`;
}

async function prepare(
  git: Git,
  { root, repository }: FolderLocation,
  refusal: string | undefined,
): Promise<Prepared> {
  const source = typeof repository === 'string' ? repository : (refusal ?? (await findSource(git)));
  return typeof source === 'string' ? fromFiles(git, root, source) : fromRepository(git, root, source);
}

/**
 * Describes how a conversation starts with the state of a folder: everything that is committed or changed in it, but
 * not what Git ignores. Nothing in the folder is changed, nothing that its repository names is executed, and no
 * credentials of its remote are returned. Without a repository that can be cloned, the files themselves are carried
 * along, if they are small enough.
 *
 * `refusal` is a sentence if the service has refused to clone the repository.
 *
 * Throws a RefusalError if there is no such folder, Git is missing, or the changes are too large for a request.
 */
export async function prepareFolder(path: string, refusal?: string): Promise<PreparedFolder> {
  const location = await locateFolder(path);
  const { creation, notes } = await withIsolatedGit(location, 'read', (git) =>
    prepare(git, location, refusal),
  );
  return { creation: { ...creation, client_folder: location.root }, notes, subfolder: location.subfolder };
}

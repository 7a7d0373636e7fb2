// Carries a folder of this machine to a conversation: its repository and branch, and what is not pushed as a patch.
import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { relative, resolve, sep } from 'node:path';
import type { CreateConversation } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { plainLine } from '../../text/plainText.ts';
import { findLine, runGit } from './localGit.ts';
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

/** The real path of a folder. Throws a RefusalError if there is none. */
export function realFolder(path: string): string {
  const shown = plainLine(path);
  try {
    const real = realpathSync(resolve(path));
    if (statSync(real).isDirectory()) return real;
  } catch (error) {
    throw new RefusalError(`The folder ${shown} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
  throw new RefusalError(`${shown} is not a folder.`);
}

/** The home folder and those above it: their files are not those of a project. */
function holdsHome(folder: string): boolean {
  const home = homedir();
  return home === folder || home.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** The remote of the current branch, or origin, or the only one. */
async function findRemoteName(top: string, branch: string | undefined): Promise<string | undefined> {
  const names = (await runGit(top, ['remote'])).stdout.toString().split('\n').filter(Boolean);
  const configured = branch && (await findLine(top, ['config', `branch.${branch}.remote`]));
  if (configured && names.includes(configured)) return configured;
  if (names.includes('origin')) return 'origin';
  return names.length === 1 ? names[0] : undefined;
}

/** The name of the branch on the remote; undefined if the remote does not have it. */
async function findRemoteBranch(top: string, remote: string, branch: string | undefined) {
  if (branch === undefined) return undefined;
  const prefix = `refs/remotes/${remote}/`;
  const upstream = await findLine(top, ['rev-parse', '--symbolic-full-name', `${branch}@{upstream}`]);
  for (const ref of [upstream, `${prefix}${branch}`])
    if (ref?.startsWith(prefix) && (await findLine(top, ['rev-parse', '--verify', '--quiet', ref])))
      return ref.slice(prefix.length);
  return undefined;
}

/** The newest commit that both HEAD and the remote have; undefined if there is none. */
async function findBase(top: string, remote: string): Promise<string | undefined> {
  const range = ['HEAD', '--not', `--remotes=${remote}`];
  const { stdout } = await runGit(top, ['rev-list', '--boundary', ...range]);
  const lines = stdout.toString().split('\n').filter(Boolean);
  if (lines.length === 0) return findLine(top, ['rev-parse', 'HEAD']);
  const boundaries = lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1));
  if (boundaries.length === 0) return undefined;
  const [first] =
    (await findLine(top, ['merge-base', 'HEAD', ...boundaries.slice(0, boundariesMax)]))?.split('\n') ?? [];
  return first;
}

/** A sentence if the service cannot clone what the folder is based on. */
async function findSource(top: string): Promise<Source | string> {
  if ((await findLine(top, ['rev-parse', '--verify', '--quiet', 'HEAD'])) === undefined)
    return 'The repository has no commits yet.';
  const localBranch = await findLine(top, ['symbolic-ref', '--quiet', '--short', 'HEAD']);
  const remote = await findRemoteName(top, localBranch);
  const url = remote && (await findLine(top, ['remote', 'get-url', '--', remote]));
  if (!remote || url === undefined) return 'The repository has no remote to clone it from.';
  const repository = repositoryOf(url);
  if (repository === undefined) return `The remote ${plainLine(remote)} is not a repository on a Git host.`;
  const base = await findBase(top, remote);
  if (base === undefined)
    return `No commit of the folder is known to be on the remote ${plainLine(remote)}: push, or run "git fetch".`;
  const count = await findLine(top, ['rev-list', '--count', `${base}..HEAD`]);
  const branch = await findRemoteBranch(top, remote, localBranch);
  return { ...repository, branch, base, unpushed: Number(count ?? 0) };
}

function countOf(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

function noteNested({ nested }: TreePatch): string[] {
  if (nested.length === 0) return [];
  return [`Left out, because they are repositories of their own: ${nested.join(', ')}`];
}

function describe({ files, untracked }: TreePatch): string {
  if (files === 0) return 'without changes';
  return `with ${countOf(files, 'changed file')}${untracked === 0 ? '' : `, ${untracked} of them untracked`}`;
}

function toPatch(patch: Buffer, base?: string) {
  return { ...(base === undefined ? {} : { base_commit: base }), patch: patch.toString('base64') };
}

async function fromRepository(top: string, source: Source): Promise<Omit<PreparedFolder, 'subfolder'>> {
  const { repository, git_provider, branch, base, unpushed } = source;
  const hasHome = holdsHome(top);
  const tree = await readTreePatch({ top, base, withUntracked: !hasHome, isPlain: false });
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
      ...(hasHome ? ['Untracked files are left out, because this is your home folder.'] : []),
      ...noteNested(tree),
    ],
  };
}

/** The files themselves, if they are small enough; otherwise nothing. */
async function fromFiles(
  top: string,
  isPlain: boolean,
  why: string,
): Promise<Omit<PreparedFolder, 'subfolder'>> {
  const empty = (reason: string) => ({
    creation: {},
    notes: [`${why} ${reason} The conversation starts with an empty workspace.`],
  });
  if (holdsHome(top)) return empty('The files of a home folder are not carried along.');
  try {
    const tree = await readTreePatch({ top, base: emptyTree, withUntracked: true, isPlain });
    if (tree.files === 0) return empty('The folder has no files.');
    return {
      creation: { workspace_patch: toPatch(tree.patch) },
      notes: [
        `${why} The workspace starts with a copy of its ${countOf(tree.files, 'file')}.`,
        ...noteNested(tree),
      ],
    };
  } catch (error) {
    if (error instanceof TooLargeError) return empty(error.message);
    throw error;
  }
}

/** The top folder of the repository that a folder is in, or the folder itself. Throws a RefusalError if there is none. */
export async function findRoot(path: string) {
  const folder = realFolder(path);
  const found = await findLine(folder, ['rev-parse', '--show-toplevel']);
  const root = found === undefined ? folder : realFolder(found);
  return { root, isRepository: found !== undefined, subfolder: relative(root, folder).split(sep).join('/') };
}

/**
 * Describes how a conversation starts with the state of a folder: everything that is committed or changed in it, but
 * not what Git ignores. Nothing in the folder is changed, and no credentials of its remote are returned. Without a
 * repository that can be cloned, the files themselves are carried along, if they are small enough.
 *
 * Throws a RefusalError if there is no such folder, Git is missing, or the changes are too large for a request.
 */
export async function prepareFolder(path: string): Promise<PreparedFolder> {
  const { root, isRepository, subfolder } = await findRoot(path);
  const source = isRepository ? await findSource(root) : 'The folder is not a Git repository.';
  const { creation, notes } =
    typeof source === 'string'
      ? await fromFiles(root, !isRepository, source)
      : await fromRepository(root, source);
  return { creation: { ...creation, client_folder: root }, notes, subfolder };
}

// Finds the repository of a folder, and decides whether it is really that of the folder: a folder from elsewhere may
// point to another repository of the user, whose content must not be carried along.
import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { plainLine, shellWord } from '../../text/plainText.ts';
import { findLine, firstError, runGit } from './localGit.ts';

const pointerBytesMax = 4_096;

/** The folders of a repository; they differ in a linked worktree only. */
export interface RepositoryFolders {
  /** With HEAD and the index. */
  readonly gitDir: string;
  /** With branches, objects and the configuration. */
  readonly commonDir: string;
}

export interface FolderLocation {
  /** The top folder of the repository, or the folder itself. */
  readonly root: string;
  /** The folder below the top folder, with slashes; empty if it is the top folder itself. */
  readonly subfolder: string;
  /** Otherwise, a sentence that says why it has none. */
  readonly repository: RepositoryFolders | string;
}

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

function contains(folder: string, inner: string): boolean {
  const way = relative(folder, inner);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** What a folder has to do with the home folder, as the end of a sentence. Its files are not those of a project then. */
export function findHomeRelation(folder: string): string | undefined {
  const home = realPath(homedir()) ?? homedir();
  if (folder === home) return 'is your home folder';
  return contains(folder, home) ? 'contains your home folder' : undefined;
}

/** The content of a file with one line; undefined if there is no such file. */
function readSmall(file: string): string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > pointerBytesMax) return undefined;
  return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

/** Git writes no links into these places. A link could name the branches of another repository. */
function hasLinks({ gitDir, commonDir }: RepositoryFolders): boolean {
  const own = ['HEAD', 'index'].map((name) => join(gitDir, name));
  const shared = ['refs', 'packed-refs', 'objects', 'reftable', 'shallow', 'info', 'logs'];
  const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if ([...own, ...shared.map((name) => join(commonDir, name))].some(isLink)) return true;
  try {
    const refs = readdirSync(join(commonDir, 'refs'), { recursive: true, withFileTypes: true });
    return refs.some((entry) => entry.isSymbolicLink());
  } catch {
    return true;
  }
}

/** Where `.git` of a folder leads to. */
function targetOf(root: string): string | undefined {
  const entry = join(root, '.git');
  if (lstatSync(entry, { throwIfNoEntry: false })?.isFile() !== true) return realPath(entry);
  const pointer = readSmall(entry)?.replace(/^gitdir: /, '');
  return pointer === undefined ? undefined : realPath(resolve(root, pointer));
}

/** Whether `.git` of the folder is its repository, or leads to one that points back to the folder. */
async function isRepositoryOf(root: string, { gitDir, commonDir }: RepositoryFolders): Promise<boolean> {
  if (targetOf(root) !== gitDir) return false;
  if (gitDir !== commonDir) {
    const back =
      dirname(gitDir) === join(commonDir, 'worktrees') ? readSmall(join(gitDir, 'gitdir')) : undefined;
    return back !== undefined && realPath(dirname(resolve(gitDir, back))) === root;
  }
  if (contains(root, gitDir)) return true;
  const file = ['config', '--file', join(gitDir, 'config'), 'core.worktree'];
  const worktree = await findLine((args) => runGit(root, args), file);
  return worktree !== undefined && realPath(resolve(gitDir, worktree)) === root;
}

function sentenceOf(folder: string, stderr: string): string {
  if (/not a git repository|must be run in a work tree/.test(stderr))
    return 'The folder is not a Git repository.';
  if (/dubious ownership|unsafe repository/.test(stderr)) {
    const [, named = folder] = /safe\.directory '?(.+?)'?$/m.exec(stderr) ?? [];
    return `Git does not use the repository of the folder, because it belongs to another user. If you trust it, run "git config --global --add safe.directory ${shellWord(named)}".`;
  }
  return `Git cannot read the repository of the folder: ${firstError(stderr)}.`;
}

/** Whether its repository knows files in the folder. */
async function hasTracked(folder: string): Promise<boolean> {
  return (await runGit(folder, ['ls-files', '-z', '--', '.'])).stdout.length > 0;
}

/** Throws a RefusalError if there is no such folder, or Git is missing. */
export async function locateFolder(path: string): Promise<FolderLocation> {
  const folder = realFolder(path);
  const plain = (repository: string) => ({ root: folder, subfolder: '', repository });
  const args = ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'];
  const { code, stdout, stderr } = await runGit(folder, args, { allowed: [128] });
  if (code !== 0) return plain(sentenceOf(folder, stderr));
  const paths = stdout.toString().trimEnd().split('\n').map(realPath);
  const [root, gitDir, commonDir] = paths;
  if (paths.length !== 3 || root === undefined || gitDir === undefined || commonDir === undefined)
    return plain('The paths of the repository cannot be read.');
  const repository = { gitDir, commonDir };
  if (!contains(root, folder) || !(await isRepositoryOf(root, repository)) || hasLinks(repository))
    return plain('The folder points to a repository elsewhere, which does not point back to the folder.');
  if (root !== folder && findHomeRelation(root) !== undefined && !(await hasTracked(folder)))
    return plain('The folder is not a Git repository, and that of your home folder has none of its files.');
  return { root, subfolder: relative(root, folder).split(sep).join('/'), repository };
}

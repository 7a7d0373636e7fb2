// Runs git on a folder without the configuration of its repository, which can name programs in many places. Git gets a
// repository of its own instead: with the branches and objects of the folder's, but with a configuration that consists
// of the user's own and of those options of the repository that are only data.
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusalError } from '../../errors.ts';
import { withCleanup } from './cleanup.ts';
import type { FolderLocation, RepositoryFolders } from './folderLocation.ts';
import { configText, parseConfig, usableEntries } from './gitConfig.ts';
import { type Git, runGit } from './localGit.ts';

/**
 * `read`: nothing in the repository is written. Filters of the user apply, such as Git LFS.
 * `write`: for what an agent has written. Objects and branches are written, and no filters apply, because .gitattributes
 * of the agent could apply them to any file.
 */
type Access = 'read' | 'write';

const headBytesMax = 1_024;
const headForm = /^(ref: refs\/[^\n]+|[0-9a-f]{40,64})\n?$/;

/** Alternates are separated by colons, unless they are quoted. */
function quoted(path: string): string {
  return `"${path.replaceAll(/[\\"]/g, '\\$&')}"`;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function readHead(gitDir: string): string {
  const file = join(gitDir, 'HEAD');
  const head = isFile(file) && lstatSync(file).size <= headBytesMax ? readFileSync(file, 'latin1') : '';
  if (!headForm.test(head)) throw new RefusalError('The repository of the folder has no valid HEAD.');
  return head;
}

/** Creates the parts that are not configuration. */
function createParts(target: string, location: FolderLocation, access: Access): void {
  mkdirSync(join(target, 'objects'), { recursive: true });
  if (typeof location.repository === 'string') {
    mkdirSync(join(target, 'refs'));
    writeFileSync(join(target, 'HEAD'), 'ref: refs/heads/main\n');
    return;
  }
  const { gitDir, commonDir } = location.repository;
  writeFileSync(join(target, 'HEAD'), readHead(gitDir), 'latin1');
  if (isFile(join(gitDir, 'index'))) copyFileSync(join(gitDir, 'index'), join(target, 'index'));
  const shared = [
    'refs',
    'packed-refs',
    'reftable',
    'shallow',
    'info',
    ...(access === 'write' ? ['logs'] : []),
  ];
  const parts = [
    ...shared.map((name) => join(commonDir, name)),
    // A part of a split index.
    ...readdirSync(gitDir).flatMap((name) => (/^sharedindex\./.test(name) ? [join(gitDir, name)] : [])),
  ];
  for (const part of parts)
    if (lstatSync(part, { throwIfNoEntry: false }) !== undefined)
      symlinkSync(part, join(target, part.slice(part.lastIndexOf('/') + 1)));
}

async function readConfig({ root, repository }: FolderLocation, target: string) {
  // Outside of a repository, git would look for one above the folder.
  const env = typeof repository === 'string' ? { GIT_DIR: target } : {};
  return parseConfig((await runGit(root, ['config', '--null', '--show-scope', '--list'], { env })).stdout);
}

function objectsEnvironment(target: string, { commonDir }: RepositoryFolders, access: Access) {
  const objects = join(commonDir, 'objects');
  if (access === 'write') return { GIT_OBJECT_DIRECTORY: objects };
  return {
    GIT_OBJECT_DIRECTORY: join(target, 'objects'),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects),
  };
}

async function createRepository(target: string, location: FolderLocation, access: Access): Promise<Git> {
  createParts(target, location, access);
  const { root, repository } = location;
  const config = await readConfig(location, target);
  const { entries, formats } = usableEntries(config, { withFilters: access === 'read' });
  if (
    typeof repository !== 'string' &&
    repository.gitDir !== repository.commonDir &&
    formats.refStorage === 'reftable'
  )
    throw new RefusalError('Linked worktrees of repositories with the reftable format are not supported.');
  writeFileSync(join(target, 'config'), configText(entries, formats), 'latin1');
  const own = {
    GIT_DIR: target,
    GIT_WORK_TREE: root,
    // Everything is in the configuration of the new repository.
    ...{ GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    ...{ GIT_CONFIG_COUNT: undefined, GIT_CONFIG_PARAMETERS: undefined },
    ...(typeof repository === 'string' ? {} : objectsEnvironment(target, repository, access)),
  };
  return (args, options) => runGit(root, args, { ...options, env: { ...own, ...options?.env } });
}

/** Nothing that the repository of the folder names is executed. Throws a RefusalError if Git cannot read it. */
export function withIsolatedGit<Out>(
  location: FolderLocation,
  access: Access,
  work: (git: Git) => Promise<Out>,
): Promise<Out> {
  const temporary = mkdtempSync(join(tmpdir(), 'parley-folder-'));
  const remove = () => rmSync(temporary, { recursive: true, force: true });
  return withCleanup(remove, async () =>
    work(await createRepository(join(temporary, 'repository.git'), location, access)),
  );
}

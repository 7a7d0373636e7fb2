// The folders of conversations: what an agent sees, and next to it, out of its reach, the service's own records.
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConversationName } from '../../conversations/id.ts';
import { createFile } from '../../process/durableFiles.ts';

const run = promisify(execFile);

export interface ConversationFolders {
  readonly root: string;
  readonly workspace: string;
  readonly home: string;
  /** A file that exists once the workspace is complete. */
  readonly readyMark: string;
  /** A file that exists once the setup script of the repository has ended. */
  readonly setupMark: string;
  /** A file with the path of the local folder that is used instead of the workspace, if there is one. */
  readonly localMark: string;
  /** A file of the protection of that folder. */
  readonly guardRecord: string;
  /** `workspace` is a local folder of the user. */
  readonly isLocal?: true;
}

const folderMode = 0o700;
const removedPrefix = 'removed-';

/** Creates the folder if it is missing. Throws if there is something else or a link. */
async function ensureFolder(path: string): Promise<void> {
  await mkdir(path, { mode: folderMode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await folder.chmod(folderMode);
  } finally {
    await folder.close();
  }
}

/**
 * Removes the folder with its contents; it may be missing. Neither program follows links, and both handle what an agent
 * has locked or nested deeper than the longest path.
 */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await run('chmod', ['-R', 'u+rwX', '--', path]).catch(() => {
      // `rm` reports what it could not unlock.
    });
    await run('rm', ['-rf', '--', path]);
  }
}

/** Removes the contents of the folder. */
export async function emptyFolder(path: string): Promise<void> {
  for (const name of await readdir(path)) await removeTree(join(path, name));
}

function ownerText({ userId, id }: ConversationName): string {
  return `${userId} ${id}\n`;
}

export function createFolders(dataDir: string) {
  const top = join(dataDir, 'conversations');

  function pathsOf(key: number): ConversationFolders {
    const root = join(top, String(key));
    return {
      root,
      workspace: join(root, 'workspace'),
      home: join(root, 'home'),
      readyMark: join(root, 'ready'),
      setupMark: join(root, 'setup'),
      localMark: join(root, 'local'),
      guardRecord: join(root, 'guard'),
    };
  }

  async function namesIn(pattern: RegExp): Promise<number[]> {
    const names = await readdir(top).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.flatMap((name) => {
      const [, key] = pattern.exec(name) ?? [];
      return key === undefined ? [] : [Number(key)];
    });
  }

  async function setAside(key: number): Promise<boolean> {
    await removeSetAside(key);
    try {
      await rename(pathsOf(key).root, join(top, `${removedPrefix}${key}`));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  function removeSetAside(key: number): Promise<void> {
    return removeTree(join(top, `${removedPrefix}${key}`));
  }

  /** A new database counts from 1 again, so folders with this key may belong to somebody else. */
  async function isOf(key: number, owner: ConversationName): Promise<boolean> {
    return (await readFile(ownerFile(key), 'utf8').catch(() => undefined)) === ownerText(owner);
  }

  async function expelOthers(key: number, owner: ConversationName): Promise<void> {
    if (!(await isOf(key, owner)) && (await setAside(key))) await removeSetAside(key);
  }

  function ownerFile(key: number): string {
    return join(pathsOf(key).root, 'conversation');
  }

  return {
    /** Returns the parent folder of all conversations and creates it if it is missing. */
    ensureTop: async (): Promise<string> => {
      await ensureFolder(top);
      return top;
    },
    /** Creates missing folders. Each must be a real folder, not a link. */
    open: async (key: number, owner: ConversationName): Promise<ConversationFolders> => {
      const folders = pathsOf(key);
      await ensureFolder(top);
      await expelOthers(key, owner);
      await ensureFolder(folders.root);
      createFile(ownerFile(key), ownerText(owner));
      for (const path of [folders.workspace, folders.home]) await ensureFolder(path);
      return folders;
    },
    /** Returns undefined if the conversation has no folders here. */
    find: async (key: number, owner: ConversationName): Promise<ConversationFolders | undefined> => {
      const folders = pathsOf(key);
      const found = await lstat(folders.workspace).catch(() => undefined);
      if (!found?.isDirectory() || !(await isOf(key, owner))) return undefined;
      const local = await readFile(folders.localMark, 'utf8').catch(() => undefined);
      return local === undefined ? folders : { ...folders, workspace: local, isLocal: true };
    },
    /** Whether the agent of the conversation works in a local folder of its user. */
    isLocal: async (key: number): Promise<boolean> =>
      (await lstat(pathsOf(key).localMark).catch(() => undefined)) !== undefined,
    /** The conversations that have folders here. */
    list: () => namesIn(/^([1-9]\d{0,15})$/),
    /** Renames them at once, before they are removed. Returns false if there are none. */
    setAside,
    /** The conversations whose folders were renamed but not removed yet. */
    listSetAside: () => namesIn(/^removed-([1-9]\d{0,15})$/),
    removeSetAside,
  };
}

export type Folders = ReturnType<typeof createFolders>;

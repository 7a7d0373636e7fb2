// The folders of conversations: what an agent sees, and beside it, out of its reach, what the service notes of it.
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ConversationName } from '../../conversations/id.ts';
import { createFile } from '../../process/privateFiles.ts';

const run = promisify(execFile);

export interface ConversationFolders {
  readonly root: string;
  readonly workspace: string;
  readonly home: string;
  /** A file that exists once the workspace is complete. */
  readonly readyMark: string;
  /** A file that exists once the setup script of the repository has ended. */
  readonly setupMark: string;
}

const folderMode = 0o700;
const removedPrefix = 'removed-';

/** Makes it where it is missing. Throws where something else, or a link, has its name. */
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
 * Removes it with all that is in it; absent is fine. The two programs follow no link either, and manage what an agent
 * has locked, or nested deeper than any path can say.
 */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch {
    await run('chmod', ['-R', 'u+rwX', '--', path]).catch(() => {
      // What it could not unlock, `rm` names.
    });
    await run('rm', ['-rf', '--', path]);
  }
}

/** Removes all that is in it, and leaves it. */
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

  /** A database that was begun anew counts from 1 again: what is here then may be of somebody else. */
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
    /** Makes what is missing of them. Each must be a folder of its own, not a link to one. */
    open: async (key: number, owner: ConversationName): Promise<ConversationFolders> => {
      const folders = pathsOf(key);
      await ensureFolder(top);
      await expelOthers(key, owner);
      await ensureFolder(folders.root);
      createFile(ownerFile(key), ownerText(owner));
      for (const path of [folders.workspace, folders.home]) await ensureFolder(path);
      return folders;
    },
    /** Undefined where it has none here. */
    find: async (key: number, owner: ConversationName): Promise<ConversationFolders | undefined> => {
      const folders = pathsOf(key);
      const found = await lstat(folders.workspace).catch(() => undefined);
      return found?.isDirectory() && (await isOf(key, owner)) ? folders : undefined;
    },
    /** The conversations that have folders here. */
    list: () => namesIn(/^([1-9]\d{0,15})$/),
    /** Takes them away at once, before they are removed; false where there are none. */
    setAside,
    /** The conversations whose folders were set aside and are not removed yet. */
    listSetAside: () => namesIn(/^removed-([1-9]\d{0,15})$/),
    removeSetAside,
  };
}

export type Folders = ReturnType<typeof createFolders>;

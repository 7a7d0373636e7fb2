// Folders of this machine in which agents may work directly. The operator lists them; everything else about them is
// checked when a conversation is created, and again whenever it starts.
import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import { contains } from '../../sandbox/sandboxPaths.ts';

interface LocalFoldersOptions {
  /** Absolute paths; folders below them are allowed, too. */
  readonly allowed: readonly string[];
  /** Must never be visible to an agent. */
  readonly dataDir: string;
  /** Several processes or machines could share the database. */
  readonly hasSharedDatabase: boolean;
  readonly onLoopback: boolean;
  readonly hasOneUser: () => Promise<boolean>;
}

/** Undefined if there is no such path. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

interface Held {
  /** Returns whether nobody holds the folder any more. A run that lost its lease may end after the next one began. */
  release(): boolean;
}

export type LocalFolders = ReturnType<typeof createLocalFolders>;

export function createLocalFolders(options: LocalFoldersOptions) {
  const { allowed, dataDir, hasSharedDatabase, onLoopback, hasOneUser } = options;
  /** The conversations that work in a folder now. */
  const held = new Set<{ readonly path: string; readonly id: string }>();

  function faultOfPath(path: string): string | undefined {
    if (!isAbsolute(path)) return 'must be an absolute path';
    const real = realPath(path);
    if (real === undefined || !isFolder(real))
      return 'must be a folder of the machine that the service runs on';
    if (real !== path)
      return 'must be the real path of the folder, without links and without a slash at the end';
    const roots = allowed.map(realPath).filter((root) => root !== undefined);
    if (!roots.some((root) => contains(root, path)))
      return 'must be in a folder that the operator allows: PARLEY_LOCAL_FOLDERS';
    const data = realPath(dataDir) ?? dataDir;
    if (contains(path, data) || contains(data, path))
      return 'must not contain the data folder of the service, or be in it: set PARLEY_DATA_DIR';
    const home = realPath(homedir()) ?? homedir();
    return contains(path, home) ? 'must not be a home folder, or a folder that contains one' : undefined;
  }

  /** Why no agent may work in this folder, as the end of a sentence about it; undefined if one may. */
  async function findFault(path: string): Promise<string | undefined> {
    if (allowed.length === 0) return 'is not allowed here: the operator can set PARLEY_LOCAL_FOLDERS';
    if (hasSharedDatabase)
      return 'needs a service without DATABASE_URL, because a folder belongs to one machine';
    if (!onLoopback)
      return 'needs a service that only listens on a loopback address (HOST), without PARLEY_PUBLIC_URL';
    if (!(await hasOneUser())) return 'needs a service with a single user';
    return faultOfPath(path);
  }

  /** Reserves the folder for a conversation. Returns the id of another one that works in it, or around it. */
  function hold(path: string, id: string): Held | { readonly takenBy: string } {
    for (const { path: other, id: takenBy } of held)
      if (takenBy !== id && (contains(other, path) || contains(path, other))) return { takenBy };
    const own = { path, id };
    held.add(own);
    const release = () => {
      held.delete(own);
      return ![...held].some((other) => other.path === path);
    };
    return { release };
  }

  return { findFault, hold };
}

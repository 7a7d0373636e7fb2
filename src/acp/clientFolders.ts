// The working directory of a client, and how its paths correspond to those of a workspace.
import { posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CreateConversation } from '../client/parley.ts';

/** Where agents work in their sandbox. */
export const workspacePath = '/workspace';

/** How a conversation starts with a folder. */
export interface Folder {
  readonly creation: Partial<CreateConversation>;
  /** What the workspace of the conversation starts with, in sentences for the user. */
  notes?(conversationId: string): readonly string[];
  /** Another way, for a service that does not accept this one and gives this reason. */
  otherwise?(reason: string): Promise<Folder>;
}

/** The folders on the machine of the client, if that is the machine of this program. */
export interface ClientFolders {
  /** The folder that a workspace corresponds to: the top folder of the repository, or the working directory itself. */
  findRoot(cwd: string): Promise<string>;
  open(cwd: string): Promise<Folder>;
}

export interface Paths {
  /** Converts a path of the sandbox to one of the client's machine. */
  toClient(path: string): string;
  /** Whether a converted path may be one of the client's machine. */
  isOfClient(path: string): boolean;
  /** Converts the URL of a file on the client's machine to one that is relative to the workspace. */
  toWorkspaceUrl(url: string): string;
}

/** Agents may name files of the workspace by relative paths; ACP has only absolute ones. */
function absolute(path: string): string {
  return path === '' || path.startsWith('/') ? path : posix.join(workspacePath, path);
}

/** For clients whose folders have nothing to do with the workspace. */
export const samePaths: Paths = {
  toClient: absolute,
  isOfClient: (path) => path !== '',
  toWorkspaceUrl: (url) => url,
};

/** The part of a path below a folder, with a slash at its start; undefined if it is not below. */
function below(path: string, folder: string): string | undefined {
  if (path === folder) return '';
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
    ? path.slice(folder.replace(/\/$/, '').length)
    : undefined;
}

/** The path of a file URL; undefined for other URLs. */
function filePath(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

/** The paths of a workspace that corresponds to this folder. */
export function pathsOf(root: string): Paths {
  return {
    toClient: (path) => {
      const rest = below(absolute(path), workspacePath);
      return rest === undefined ? path : root.replace(/\/$/, '') + rest;
    },
    // Other paths of the sandbox mean other files on the client's machine.
    isOfClient: (path) => below(path, root) !== undefined,
    toWorkspaceUrl: (url) => {
      const path = filePath(url);
      const rest = path === undefined ? undefined : below(path, root);
      if (rest === undefined) return url;
      const { pathname } = pathToFileURL(rest === '' ? '/' : rest);
      return `${pathname.slice(1) || '.'}${new URL(url).hash}`;
    },
  };
}

// What a backup holds besides the database, and where it is on this machine.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { TreeLimits } from './readTree.ts';

/** The parts of a backup that are trees of files. A part is the first word of the paths in it. */
export type FilePart = 'conversations' | 'uploads' | 'snapshots' | 'data' | 'keys';
export const fileParts: readonly FilePart[] = ['conversations', 'uploads', 'snapshots', 'data', 'keys'];

export interface Tree extends TreeLimits {
  readonly root: string;
  /** The path in the archive. */
  readonly path: string;
}

/** Files of the data folder that belong to no conversation: the id of this machine, and what the operator added. */
export const dataFiles: readonly string[] = ['node.id', 'agents.json', 'prices.json'];
export const keyFiles: readonly string[] = ['secret.key', 'owner.key'];

const mb = 1_000_000;
const noLimits = { bytesMax: Number.MAX_SAFE_INTEGER, entriesMax: Number.MAX_SAFE_INTEGER };

export interface ContentsChoice {
  readonly workspaces: boolean;
  readonly snapshots: boolean;
}

type Places = Pick<Config, 'dataDir' | 'workspaceMb' | 'workspaceFiles' | 'snapshots'>;

function namesIn(folder: string, pattern: RegExp): string[] {
  try {
    return readdirSync(folder).filter((name) => pattern.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Folders of conversations that are being removed have other names. */
function conversationTrees({ dataDir, workspaceMb, workspaceFiles }: Places): Tree[] {
  const top = join(dataDir, 'conversations');
  // A conversation may be a little over its limit when it is stopped.
  const limits = { bytesMax: 2 * workspaceMb * mb, entriesMax: 2 * workspaceFiles };
  return namesIn(top, /^[1-9]\d{0,15}$/).map((key) => ({
    root: join(top, key),
    path: `conversations/${key}`,
    ...limits,
  }));
}

/** The folder of snapshots; undefined if they are elsewhere or there are none. */
export function snapshotFolder({ snapshots }: Pick<Config, 'snapshots'>): string | undefined {
  return snapshots?.kind === 'folder' ? snapshots.path : undefined;
}

export function treesOf(
  places: Places,
  choice: ContentsChoice,
): Readonly<Partial<Record<FilePart, readonly Tree[]>>> {
  const folder = choice.snapshots ? snapshotFolder(places) : undefined;
  return {
    ...(choice.workspaces
      ? {
          conversations: conversationTrees(places),
          uploads: namesIn(join(places.dataDir, 'uploads'), /^[\w-]+$/).map((id) => ({
            root: join(places.dataDir, 'uploads', id),
            path: `uploads/${id}`,
            ...noLimits,
          })),
        }
      : {}),
    ...(folder === undefined
      ? {}
      : {
          snapshots: namesIn(folder, /^[\w-]+$/).map((id) => ({
            root: join(folder, id),
            path: `snapshots/${id}`,
            ...noLimits,
          })),
        }),
  };
}

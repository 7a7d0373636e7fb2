// Registers this process, so that others can reach it, and finds those that have the workspace of a conversation.
import type { ConversationName } from '../conversations/id.ts';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError } from '../errors.ts';
import { findNodeUrls, findRunLocation, findWorkspaceNode, registerNode, removeNode } from './store.ts';
import { type PassedRequest, signNodeToken, verifyNodeToken } from './token.ts';

const registerEveryMs = 5_000;
const retryAfterS = 5;

interface NodesOptions {
  readonly database: Database;
  readonly vault: Vault;
  /** The id of this machine's data folder. */
  readonly nodeId: string;
  readonly processId: string;
  readonly onBackgroundError: (error: Error) => void;
}

export type Nodes = ReturnType<typeof createNodes>;

export function unreachable(cause?: unknown): AppError {
  return new AppError(
    'node_unreachable',
    'The machine that has the files of this conversation cannot be reached. Try again later.',
    { retryAfterS, cause },
  );
}

export function createNodes({ database, vault, nodeId, processId, onBackgroundError }: NodesOptions) {
  // SQLite has only one process.
  const isCluster = database.kind === 'postgres';
  let timer: NodeJS.Timeout | undefined;

  /** Other processes reach this one under `url` from now on. */
  async function register(url: string): Promise<void> {
    if (!isCluster) return;
    const refresh = () => database.run(registerNode, { processId, nodeId, url });
    timer = setInterval(() => void refresh().catch(onBackgroundError), registerEveryMs);
    await refresh();
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    if (timer !== undefined) await database.run(removeNode, processId).catch(onBackgroundError);
  }

  /**
   * The URLs of the processes that have the workspace of a conversation; undefined if it is here or does not exist.
   * Throws if no such process is alive.
   */
  async function findOthers(name: ConversationName): Promise<readonly string[] | undefined> {
    if (!isCluster) return undefined;
    const found = await database.run(findWorkspaceNode, name);
    if (found === undefined || found.nodeId === null || found.nodeId === nodeId) return undefined;
    if (found.urls.length === 0) throw unreachable();
    return found.urls;
  }

  return {
    /** The URLs of the live processes of a node. */
    findUrls: (id: string) => database.run(findNodeUrls, id),
    isCluster,
    /** Where the run of a conversation may be besides this process; undefined if it has none. */
    findRunLocation: ({ userId, id }: ConversationName) =>
      database.run(findRunLocation, { userId, id, processId }),
    register,
    close,
    findOthers,
    sign: (request: PassedRequest) => signNodeToken(vault, request),
    verify: (token: string, request: Pick<PassedRequest, 'method' | 'url'>) =>
      verifyNodeToken(vault, token, request),
  };
}

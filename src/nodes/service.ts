// Registers this process, so that others can reach it and share the limits with it, and finds those that have the
// workspace of a conversation.
import type { ConversationName } from '../conversations/id.ts';
import { nodesTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError } from '../errors.ts';
import { type Clock, systemClock, type Timer } from '../process/clock.ts';
import { repeatable, wakeable } from '../process/repeat.ts';
import {
  countServing,
  findNodeUrls,
  findRunLocation,
  findWorkspaceNode,
  type LiveProcess,
  listProcesses,
  listProcessIds,
  registerNode,
  removeNode,
} from './store.ts';
import { type PassedRequest, signNodeToken, verifyNodeToken } from './token.ts';

/** Several of these fit into the time within which a worker must be seen: see conversations/reservation.ts. */
const registerEveryMs = 2_000;
const retryAfterS = 5;
const listedMax = 1_000;

interface NodesOptions {
  readonly database: Database;
  readonly vault: Vault;
  /** The id of this machine's data folder. */
  readonly nodeId: string;
  readonly processId: string;
  /** Whether this process answers API requests. */
  readonly serves: boolean;
  /** Whether this process runs conversations. */
  readonly takesWork: boolean;
  readonly version?: string;
  /** How many conversations this process runs at most. */
  readonly slots?: number;
  /** The id of its snapshot store, `off` or `unusable`; empty if that is unknown. */
  readonly snapshotStore?: () => string;
  /** Whether other processes may share the database. SQLite has only one. */
  readonly isCluster?: boolean;
  readonly clock?: Pick<Clock, 'every'>;
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

export function createNodes({
  database,
  vault,
  nodeId,
  processId,
  onBackgroundError,
  ...options
}: NodesOptions) {
  const { clock = systemClock } = options;
  const { isCluster = database.kind === 'postgres' } = options;
  const { version = '', slots = 0, snapshotStore = () => '' } = options;
  let { serves, takesWork } = options;
  let url = '';
  let timer: Timer | undefined;
  /** How many processes share the limits. Kept while the database cannot be reached. */
  let sharing = 1;

  function countSelf(serving: number): void {
    // A process that is stopping no longer counts for others, but keeps to its share until it has stopped.
    sharing = Math.max(1, serving + (serves ? 0 : 1));
  }

  function describeSelf(): LiveProcess {
    return { processId, nodeId, url, serves, takesWork, version, slots, snapshotStore: snapshotStore() };
  }

  async function refresh(): Promise<void> {
    const { isNew, serving } = await database.run(registerNode, describeSelf());
    countSelf(serving);
    if (isNew) database.notify([nodesTopic]);
  }
  const heartbeat = repeatable(refresh, onBackgroundError);
  const counting = wakeable(async () => countSelf(await database.run(countServing, null)), onBackgroundError);
  database.onNotification((topics) => {
    if (timer !== undefined && topics.includes(nodesTopic)) counting.wake();
  });

  /** Other processes reach this one under `listening` from now on, and share the limits with it. */
  async function register(listening: string): Promise<void> {
    if (!isCluster) return;
    url = listening;
    timer = clock.every(registerEveryMs, () => void heartbeat.run());
    await refresh();
  }

  /** Other processes take over its share of the limits, and wait for it no longer, but can still reach it. */
  async function leave(): Promise<void> {
    serves = false;
    takesWork = false;
    if (timer === undefined) return;
    // A heartbeat that has begun still reports the old values.
    await heartbeat.ended();
    if (timer === undefined) return;
    await heartbeat.run();
    database.notify([nodesTopic]);
  }

  async function close(): Promise<void> {
    if (timer === undefined) return;
    timer.stop();
    timer = undefined;
    await Promise.all([heartbeat.ended(), counting.ended()]);
    await database.run(removeNode, processId).catch(onBackgroundError);
    database.notify([nodesTopic]);
  }

  /**
   * The URLs of the processes that have the workspace of a conversation; undefined if it is here or does not exist, and
   * none if no such process is alive.
   */
  async function findOthers(name: ConversationName): Promise<readonly string[] | undefined> {
    if (!isCluster) return undefined;
    const found = await database.run(findWorkspaceNode, name);
    if (found === undefined || found.nodeId === null || found.nodeId === nodeId) return undefined;
    return found.urls;
  }

  /** The live processes of the service, this one included. */
  async function list(): Promise<readonly LiveProcess[]> {
    if (!isCluster) return [describeSelf()];
    return database.run(listProcesses, listedMax);
  }

  return {
    list,
    /** The ids of the live processes of the service, with that of this one. */
    listIds: async (): Promise<readonly string[]> => [
      processId,
      ...(isCluster ? await database.run(listProcessIds, null) : []),
    ],
    processId,
    /** The URLs of the live processes of a node. */
    findUrls: (id: string) => database.run(findNodeUrls, id),
    isCluster,
    /** Where the run of a conversation may be besides this process; undefined if it has none. */
    findRunLocation: ({ userId, id }: ConversationName) =>
      database.run(findRunLocation, { userId, id, processId }),
    /** How many processes share the limits of the service, this one included. */
    sharing: () => sharing,
    register,
    leave,
    close,
    findOthers,
    sign: (request: PassedRequest) => signNodeToken(vault, request),
    verify: (token: string, request: Pick<PassedRequest, 'method' | 'url'>) =>
      verifyNodeToken(vault, token, request),
  };
}

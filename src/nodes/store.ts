// The running processes of a cluster: how many answer requests, and which of them have the workspace of a conversation.
import { sql } from 'kysely';
import type { ConversationName } from '../conversations/id.ts';
import { one, type Queries, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';

/** A process that has not been seen for so long counts as stopped. */
const aliveMs = 20_000;
const forgottenMs = 60 * 60_000;

export interface NodeRow {
  readonly processId: string;
  readonly nodeId: string;
  readonly url: string;
  /** Whether it answers API requests and is not stopping. */
  readonly serves: boolean;
  /** Whether it runs conversations and is not stopping. */
  readonly takesWork: boolean;
  readonly version?: string;
  /** How many conversations it runs at most. */
  readonly slots?: number;
  /** The id of its snapshot store, `off` or `unusable`; empty if that is unknown. */
  readonly snapshotStore?: string;
}

export interface Registered {
  /** Whether this is the first time, so that others should count again. */
  readonly isNew: boolean;
  /** How many processes serve, as `countServing` returns. */
  readonly serving: number;
}

function* countServingSteps(q: Queries): Steps<number> {
  const counted = yield* one(
    q.build
      .selectFrom('nodes')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('serves', '=', 1)
      .where('seen_at', '>', sql<number>`${q.now} - ${aliveMs}`),
  );
  return Number(counted?.count ?? 0);
}

/** Counts the live processes that answer API requests. */
export const countServing = read('nodes.countServing', countServingSteps);

/** Records that a process is alive, and forgets processes that stopped long ago. */
export const registerNode = repeatableWrite(
  'nodes.register',
  function* (q, { processId, nodeId, url, serves, takesWork, ...node }: NodeRow): Steps<Registered> {
    const own = yield* one(q.build.selectFrom('nodes').select('url').where('process_id', '=', processId));
    const { version = '', slots = 0, snapshotStore = '' } = node;
    const row = {
      url,
      serves: Number(serves),
      takes_work: Number(takesWork),
      seen_at: q.now,
      version,
      slots,
      snapshot_store: snapshotStore,
    };
    yield* rows(
      q.build
        .insertInto('nodes')
        .values({ process_id: processId, node_id: nodeId, ...row })
        .onConflict((c) => c.column('process_id').doUpdateSet(row)),
    );
    yield* rows(q.build.deleteFrom('nodes').where('seen_at', '<', sql<number>`${q.now} - ${forgottenMs}`));
    return { isNew: own === undefined, serving: yield* countServingSteps(q) };
  },
);

export const removeNode = repeatableWrite('nodes.remove', function* (q, processId: string): Steps<void> {
  yield* rows(q.build.deleteFrom('nodes').where('process_id', '=', processId));
});

export interface WorkspaceNode {
  /** Null if the conversation has never had a workspace. */
  readonly nodeId: string | null;
  /** The URLs of the live processes of that node, the one that was seen last first. */
  readonly urls: readonly string[];
}

/** Without the process `except`. */
function* liveUrls(q: Queries, nodeId: string, except?: string): Steps<string[]> {
  const query = q.build
    .selectFrom('nodes')
    .select('url')
    .where('node_id', '=', nodeId)
    .where('seen_at', '>', sql<number>`${q.now} - ${aliveMs}`)
    .orderBy('seen_at', 'desc');
  const live = yield* rows(except === undefined ? query : query.where('process_id', '!=', except));
  return live.map(({ url }) => url);
}

/** Undefined if there is no such conversation. */
export const findWorkspaceNode = read(
  'nodes.findWorkspace',
  function* (q, { userId, id }: ConversationName): Steps<WorkspaceNode | undefined> {
    const found = yield* one(
      q.build
        .selectFrom('conversations')
        .select('workspace_node')
        .where('user_id', '=', userId)
        .where('id', '=', id),
    );
    if (found === undefined) return undefined;
    const { workspace_node: nodeId } = found;
    if (nodeId === null) return { nodeId, urls: [] };
    return { nodeId, urls: yield* liveUrls(q, nodeId) };
  },
);

export const findNodeUrls = read('nodes.findUrls', function* (q, nodeId: string): Steps<string[]> {
  return yield* liveUrls(q, nodeId);
});

export interface RunLocation {
  readonly runId: string;
  /** The processes that may have the run: those of the node with the workspace, without the one that asks. */
  readonly urls: readonly string[];
}

/** Undefined if the conversation has no run, or no agent has been started in it. */
export const findRunLocation = read(
  'nodes.findRunLocation',
  function* (
    q,
    { userId, id, processId }: ConversationName & { readonly processId: string },
  ): Steps<RunLocation | undefined> {
    const found = yield* one(
      q.build
        .selectFrom('conversations')
        .select(['run_id', 'workspace_node'])
        .where('user_id', '=', userId)
        .where('id', '=', id),
    );
    if (found === undefined || found.run_id === null || found.workspace_node === null) return undefined;
    return { runId: found.run_id, urls: yield* liveUrls(q, found.workspace_node, processId) };
  },
);

export interface LiveProcess {
  readonly processId: string;
  /** Under which others reach it; empty on SQLite. */
  readonly url: string;
  /** The machine on which it runs. */
  readonly nodeId: string;
  readonly serves: boolean;
  readonly takesWork: boolean;
  /** Empty for processes of older versions. */
  readonly version: string;
  readonly slots: number;
  /** As in `NodeRow`. */
  readonly snapshotStore: string;
}

/** Lists the live processes, at most `max`. */
export const listProcesses = read('nodes.list', function* (q, max: number): Steps<LiveProcess[]> {
  const found = yield* rows(
    q.build
      .selectFrom('nodes')
      .select(['process_id', 'node_id', 'url', 'serves', 'takes_work', 'version', 'slots', 'snapshot_store'])
      .where('seen_at', '>', sql<number>`${q.now} - ${aliveMs}`)
      .orderBy('node_id')
      .orderBy('process_id')
      .limit(max),
  );
  return found.map((row) => ({
    processId: row.process_id,
    nodeId: row.node_id,
    url: row.url,
    serves: Number(row.serves) === 1,
    takesWork: Number(row.takes_work) === 1,
    version: row.version,
    slots: Number(row.slots),
    snapshotStore: row.snapshot_store,
  }));
});

/** The ids of all live processes. */
export const listProcessIds = read('nodes.listIds', function* (q, _: null): Steps<string[]> {
  const alive = sql<number>`${q.now} - ${aliveMs}`;
  const found = yield* rows(q.build.selectFrom('nodes').select('process_id').where('seen_at', '>', alive));
  return found.map((row) => row.process_id);
});

export const nodeTransactions = [
  listProcessIds,
  listProcesses,
  registerNode,
  removeNode,
  countServing,
  findWorkspaceNode,
  findNodeUrls,
  findRunLocation,
];

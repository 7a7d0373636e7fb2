// Decides which workspaces can be removed. A conversation is claimed like by a run while its workspace is removed, so
// that no run can start in it.
import { sql } from 'kysely';
import { appendEvents, type LockedConversation, lockedColumns, noRun } from '../../conversations/row.ts';
import { one, type Queries, read, rows, type Steps, write } from '../../db/transaction.ts';
import { boundId, eventKeyOf } from '../../events/eventKey.ts';
import type { EventText } from '../../events/store.ts';

interface RemovableQuery {
  readonly keys: readonly number[];
  /** How long it must have been stopped and unchanged; null means for ever. */
  readonly stoppedMs: number | null;
}

interface Removable {
  /** Conversations that were deleted. */
  readonly deleted: readonly number[];
  readonly stopped: readonly number[];
}

function longStopped(q: Queries, stoppedMs: number) {
  return sql<boolean>`status = 'STOPPED' and run_id is null and updated_at < ${q.now} - ${stoppedMs}`;
}

/** Which of these conversations no longer need a workspace. */
export const findRemovable = read(
  'workspace.removable',
  function* (q, look: RemovableQuery): Steps<Removable> {
    const { keys, stoppedMs } = look;
    const known = yield* rows(
      q.build
        .selectFrom('conversations')
        .select(['key', stoppedMs === null ? sql<number>`0`.as('due') : dueColumn(q, stoppedMs)])
        .where('key', 'in', [...keys]),
    );
    const living = new Set(known.map(({ key }) => key));
    return {
      deleted: keys.filter((key) => !living.has(key)),
      stopped: known.filter(({ due }) => Number(due) === 1).map(({ key }) => key),
    };
  },
);

function dueColumn(q: Queries, stoppedMs: number) {
  return sql<number>`case when ${longStopped(q, stoppedMs)} then 1 else 0 end`.as('due');
}

interface Hold {
  readonly key: number;
  readonly runId: string;
  readonly owner: string;
  readonly leaseMs: number;
  readonly stoppedMs: number;
}

/** Claims a conversation like a run. Returns false if it was started or changed meanwhile. */
export const holdForRemoval = write('workspace.hold', function* (q, hold: Hold): Steps<boolean> {
  const { key, runId, owner, leaseMs, stoppedMs } = hold;
  const held = yield* one(
    q.build
      .updateTable('conversations')
      .set({ run_id: runId, owner, lease_until: sql<number>`${q.now} + ${leaseMs}` })
      .where('key', '=', key)
      .where(longStopped(q, stoppedMs))
      .returning('key'),
  );
  return held !== undefined;
});

interface Finish {
  readonly key: number;
  /** Null if the process that removed it has died and its claim was released. */
  readonly runId: string | null;
  readonly event: EventText;
}

/** Two machines may have a workspace of the same conversation, and a process may die and be replaced. */
function* isReported(q: Queries, { key, next_event }: LockedConversation): Steps<boolean> {
  const last = yield* one(
    q.build
      .selectFrom('events')
      .select('json')
      .where('place', '=', eventKeyOf(key, boundId(next_event - 1))),
  );
  return last !== undefined && JSON.parse(last.json).observation === removedObservation;
}

export const removedObservation = 'workspace_removed';

/** Records once that the workspace was removed, and releases the conversation. Returns true if it was recorded. */
export const finishRemoval = write('workspace.finish', function* (q, finish: Finish): Steps<boolean> {
  const { key, runId, event } = finish;
  const update = q.build
    .updateTable('conversations')
    .set({ workspace_volume: null, ...(runId === null ? {} : noRun) })
    .where('key', '=', key);
  const held = (yield* one(
    (runId === null ? update.where('status', '=', 'STOPPED') : update.where('run_id', '=', runId)).returning([
      ...lockedColumns,
    ]),
  )) as LockedConversation | undefined;
  if (held === undefined) return false;
  // The files are gone for good, so the next start must not find them in a snapshot.
  yield* rows(
    q.build
      .updateTable('snapshots')
      .set({ removed_at: q.now })
      .where('conversation_key', '=', key)
      .where('removed_at', 'is', null),
  );
  if (yield* isReported(q, held)) return false;
  yield* appendEvents(q, held, [event], { isQuietLog: true });
  return true;
});

/** The patch that the workspace of a conversation starts with, in Base64. */
export const findPatch = read('workspace.findPatch', function* (q, key: number): Steps<string | undefined> {
  const found = yield* one(
    q.build.selectFrom('workspace_patches').select('patch').where('conversation_key', '=', key),
  );
  return found?.patch;
});

export const workspaceTransactions = [findPatch, findRemovable, holdForRemoval, finishRemoval];

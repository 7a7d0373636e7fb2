// Records which snapshot of a conversation is the last good one. Only the run that owns the conversation can change it.
import { sql } from 'kysely';
import { recordAudit } from '../../audit/store.ts';
import type { ConversationName } from '../../conversations/id.ts';
import type { Run } from '../../conversations/run/records.ts';
import { one, type Queries, read, repeatableWrite, rows, type Steps, write } from '../../db/transaction.ts';
import { encryptedWithActiveKey } from '../../encryption/store.ts';
import { ownerName } from '../../users/owner.ts';
import { ensureUserSteps } from '../../users/store.ts';
import { recordTurn, type SnapshotTurn, turnTransactions } from './turnStore.ts';

export interface SnapshotRow {
  readonly id: string;
  readonly conversation_key: number;
  readonly user_id: number;
  readonly conversation_id: string;
  readonly sealed: string;
  readonly blob: string | null;
  readonly taken_at: number | null;
  readonly heard: number | null;
  /** The snapshot of another conversation that a fork starts with, until it has one of its own. */
  readonly source_id: string | null;
  readonly source_blob: string | null;
}

const columns = [
  'id',
  'conversation_key',
  'user_id',
  'conversation_id',
  'sealed',
  'blob',
  'taken_at',
  'heard',
  'source_id',
  'source_blob',
] as const;

/** The columns of a snapshot that needs no other one. */
const ownFiles = { source_id: null, source_blob: null } as const;

function* findRow(q: Queries, key: number): Steps<SnapshotRow | undefined> {
  return yield* one(
    q.build
      .selectFrom('snapshots')
      .select([...columns])
      .where('conversation_key', '=', key)
      .where('removed_at', 'is', null),
  );
}

/** Undefined if the conversation has never had one, or no longer needs it. */
export const findSnapshot = read('snapshots.find', function* (q, key: number): Steps<
  SnapshotRow | undefined
> {
  return yield* findRow(q, key);
});

/** A snapshot that another one needs, which may be that of a conversation that was deleted. */
export const findSourceSnapshot = read('snapshots.findSource', function* (q, id: string): Steps<
  SnapshotRow | undefined
> {
  return yield* one(
    q.build
      .selectFrom('snapshots')
      .select([...columns])
      .where('id', '=', id),
  );
});

/** Locks the conversation if the run still owns it. */
function* lockOwned(q: Queries, { key, runId }: Run): Steps<{ user_id: number; id: string } | undefined> {
  return yield* one(
    q.build
      .updateTable('conversations')
      .set((e) => ({ next_event: e.ref('next_event') }))
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .returning(['user_id', 'id']),
  );
}

interface NewSnapshot extends Run {
  readonly id: string;
  readonly sealed: string;
}

type Opened =
  | { readonly outcome: 'open'; readonly row: SnapshotRow }
  | { readonly outcome: 'lost' }
  | { readonly outcome: 'stale_seal' };

/** Creates the row, so that no blob exists that nobody knows of. Returns the one that is there already, if there is. */
export const openSnapshot = repeatableWrite(
  'snapshots.open',
  function* (q, input: NewSnapshot): Steps<Opened> {
    const { key, id, sealed } = input;
    const owned = yield* lockOwned(q, input);
    if (owned === undefined) return { outcome: 'lost' };
    const row = yield* findRow(q, key);
    if (row !== undefined) return { outcome: 'open', row };
    if (!(yield* encryptedWithActiveKey(q, [sealed]))) return { outcome: 'stale_seal' };
    const own = { id, conversation_key: key, user_id: owned.user_id, conversation_id: owned.id, sealed };
    yield* rows(q.build.insertInto('snapshots').values({ ...own, created_at: q.now }));
    return { outcome: 'open', row: { ...own, blob: null, taken_at: null, heard: null, ...ownFiles } };
  },
);

interface Publication extends Run {
  readonly id: string;
  readonly blob: string;
  readonly takenAt: number;
  readonly heard: number;
  /** The turn after which the files were copied; null if they may be those of an unfinished turn. */
  readonly turn?: SnapshotTurn | null;
}

/** Makes the snapshot the one that is restored. Returns false if the run no longer owns the conversation. */
export const publishSnapshot = repeatableWrite(
  'snapshots.publish',
  function* (q, input: Publication): Steps<boolean> {
    const { id, blob, takenAt, heard, turn } = input;
    if ((yield* lockOwned(q, input)) === undefined) return false;
    const published = yield* one(
      q.build
        .updateTable('snapshots')
        .set({ blob, taken_at: takenAt, heard, ...ownFiles })
        .where('id', '=', id)
        .where('removed_at', 'is', null)
        .returning('id'),
    );
    if (published !== undefined && turn != null) yield* recordTurn(q, input, turn);
    return published !== undefined;
  },
);

interface Expiry {
  /** Rows after this id are looked at. */
  readonly after: string;
  readonly max: number;
  /** How long a conversation must have been stopped; null means that its snapshot is kept. */
  readonly stoppedMs: number | null;
}

/** Marks those whose conversation was deleted or stopped long ago. A fork that never started keeps its files. Returns the last id that was looked at. */
export const expireSnapshots = write('snapshots.expire', function* (q, input: Expiry): Steps<
  string | undefined
> {
  const { after, max, stoppedMs } = input;
  const seen = yield* rows(
    q.build
      .selectFrom('snapshots')
      .leftJoin('conversations', 'conversations.key', 'snapshots.conversation_key')
      .select(['snapshots.id', 'snapshots.conversation_key', 'conversations.key as living'])
      .select(
        stoppedMs === null
          ? sql<number>`0`.as('due')
          : sql<number>`case when conversations.status = 'STOPPED' and conversations.run_id is null
              and snapshots.source_id is null and conversations.updated_at < ${q.now} - ${stoppedMs} then 1 else 0 end`.as(
              'due',
            ),
      )
      .where('snapshots.id', '>', after)
      .where('snapshots.removed_at', 'is', null)
      .orderBy('snapshots.id')
      .limit(max),
  );
  for (const { id, conversation_key: key, living, due } of seen) {
    if (living !== null && Number(due) === 0) continue;
    // It may have been started since.
    if (living !== null && (yield* one(lockStopped(q, key, stoppedMs ?? 0))) === undefined) continue;
    yield* rows(
      q.build
        .updateTable('snapshots')
        .set({ removed_at: q.now })
        .where('id', '=', id)
        .where('removed_at', 'is', null),
    );
  }
  return seen.length < max ? undefined : seen.at(-1)?.id;
});

function lockStopped(q: Queries, key: number, stoppedMs: number) {
  return q.build
    .updateTable('conversations')
    .set((e) => ({ next_event: e.ref('next_event') }))
    .where('key', '=', key)
    .where('status', '=', 'STOPPED')
    .where('run_id', 'is', null)
    .where('updated_at', '<', sql<number>`${q.now} - ${stoppedMs}`)
    .returning('key');
}

export type Discarded = 'discarded' | 'no_conversation' | 'no_snapshot' | 'not_stopped';

/** Gives up the snapshot of a stopped conversation, as its operator wants. The sweep removes its blobs. */
export const discardSnapshot = repeatableWrite(
  'snapshots.discard',
  function* (q, { userId, id, by }: ConversationName & { readonly by: string }): Steps<Discarded> {
    const found = yield* one(
      q.build
        .updateTable('conversations')
        .set((e) => ({ next_event: e.ref('next_event') }))
        .where('user_id', '=', userId)
        .where('id', '=', id)
        .returning(['key', 'status', 'run_id']),
    );
    if (found === undefined) return 'no_conversation';
    if (found.status !== 'STOPPED' || found.run_id !== null) return 'not_stopped';
    const row = yield* findRow(q, found.key);
    if (row === undefined) return 'no_snapshot';
    yield* rows(q.build.updateTable('snapshots').set({ removed_at: q.now }).where('id', '=', row.id));
    yield* recordAudit(q, [{ userId, keyId: by, action: 'snapshot.discard', subject: id }]);
    return 'discarded';
  },
);

/** Some of the snapshots that can be restored, with the blob that lists the others of each. */
export const listStoredBlobs = read('snapshots.listStored', function* (q, max: number): Steps<
  { id: string; blob: string }[]
> {
  const found = yield* rows(
    q.build
      .selectFrom('snapshots')
      .select(['id', 'blob'])
      .where('blob', 'is not', null)
      .where('removed_at', 'is', null)
      .orderBy('id')
      .limit(max),
  );
  return found.map(({ id, blob }) => ({ id, blob: blob ?? '' }));
});

/** Records that an operator lets the service use a store without its snapshots. */
export const recordAcceptedStore = repeatableWrite(
  'snapshots.recordAcceptedStore',
  function* (q, { store, by }: { readonly store: string; readonly by: string }): Steps<void> {
    const owner = yield* ensureUserSteps(q, ownerName);
    yield* recordAudit(q, [{ userId: owner.id, keyId: by, action: 'snapshot-store.accept', subject: store }]);
  },
);

interface RemovedQuery {
  readonly max: number;
  /** How long ago they must have been marked. */
  readonly sinceMs: number;
}

/** Snapshots that nobody needs any more, also no fork. */
export const listRemoved = read('snapshots.listRemoved', function* (q, input: RemovedQuery): Steps<
  { id: string; isOld: boolean }[]
> {
  const { max, sinceMs } = input;
  const found = yield* rows(
    q.build
      .selectFrom('snapshots')
      .select(['id', sql<number>`case when removed_at < ${q.now} - ${sinceMs} then 1 else 0 end`.as('old')])
      .where('removed_at', 'is not', null)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('snapshots as fork')
              .select('fork.id')
              .whereRef('fork.source_id', '=', 'snapshots.id')
              .where('fork.removed_at', 'is', null),
          ),
        ),
      )
      .orderBy('removed_at')
      .limit(max),
  );
  return found.map(({ id, old }) => ({ id, isOld: Number(old) === 1 }));
});

/** Called when no blob is left. */
export const forgetSnapshot = repeatableWrite('snapshots.forget', function* (q, id: string): Steps<void> {
  const gone = yield* one(
    q.build.deleteFrom('snapshots').where('id', '=', id).where('removed_at', 'is not', null).returning('id'),
  );
  if (gone !== undefined) yield* rows(q.build.deleteFrom('snapshot_turns').where('snapshot_id', '=', id));
});

export const snapshotTransactions = [
  findSnapshot,
  findSourceSnapshot,
  openSnapshot,
  publishSnapshot,
  ...turnTransactions,
  expireSnapshots,
  discardSnapshot,
  listStoredBlobs,
  recordAcceptedStore,
  listRemoved,
  forgetSnapshot,
];

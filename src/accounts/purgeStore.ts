// Deletes everything that a removed user owned, in transactions of bounded size. The row of the user stays without the
// name, so that its id is never used again, and the audit log still shows who removed the user.
import { sql } from 'kysely';
import { recordAudit } from '../audit/store.ts';
import { deleteRows } from '../conversations/lifecycle/store.ts';
import { lockConversation } from '../conversations/row.ts';
import { deleteSomeFromIndex } from '../conversations/search/indexStore.ts';
import { one, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import { isKeyOf } from '../events/eventKey.ts';
import { purgedName } from '../users/owner.ts';

/** Rows per transaction. */
const stepRowsMax = 1_000;

/** Tables without other tables that depend on them, with a column by which some rows can be chosen. */
const plainTables = [
  ['idempotency', 'key_hash'],
  ['uploads', 'id'],
  ['feedback', 'id'],
  ['changes', 'id'],
  ['secrets', 'name'],
  ['settings', 'user_id'],
  ['spending', 'day'],
  ['budget_reservations', 'id'],
  ['keys', 'id'],
  ['sessions', 'id'],
  ['identities', 'id'],
] as const;

/** What happened in a step. `waiting`: the rest needs a run to end, or blobs to be removed. */
export type PurgeProgress = 'more' | 'waiting' | 'done';

/** Deletes some events of a log. Returns whether there may be more. */
function* deleteSomeEvents(q: Queries, conversation: number): Steps<boolean> {
  const some = q.build.selectFrom('events').select('place').where(isKeyOf(conversation)).limit(stepRowsMax);
  const deleted = yield* rows(
    q.build.deleteFrom('events').where('place', 'in', some).returning(sql<number>`1`.as('one')),
  );
  return deleted.length === stepRowsMax;
}

/** First, so that the deletion of conversations creates no deliveries. */
function* purgeWebhook(q: Queries, userId: number): Steps<PurgeProgress> {
  const webhook = yield* one(
    q.build.selectFrom('webhooks').select('id').where('user_id', '=', userId).limit(1),
  );
  if (webhook === undefined) return 'done';
  const own = q.build.selectFrom('deliveries').select('id').where('webhook_id', '=', webhook.id);
  const deleted = yield* rows(
    q.build.deleteFrom('deliveries').where('id', 'in', own.limit(stepRowsMax)).returning('id'),
  );
  if (deleted.length === stepRowsMax) return 'more';
  yield* rows(q.build.deleteFrom('webhooks').where('id', '=', webhook.id));
  // A transaction that had found the webhook before may have added some.
  yield* rows(q.build.deleteFrom('deliveries').where('webhook_id', '=', webhook.id));
  return 'more';
}

function* purgeImport(q: Queries, userId: number): Steps<PurgeProgress> {
  const found = yield* one(
    q.build.selectFrom('imports').select('conversation_key').where('user_id', '=', userId).limit(1),
  );
  if (found === undefined) return 'done';
  const { conversation_key: key } = found;
  if (!(yield* deleteSomeEvents(q, key)))
    yield* rows(q.build.deleteFrom('imports').where('conversation_key', '=', key));
  return 'more';
}

function* purgeConversation(q: Queries, userId: number): Steps<PurgeProgress> {
  const own = q.build.selectFrom('conversations').select(['key', 'id']).where('user_id', '=', userId);
  const found = yield* one(own.where('run_id', 'is', null).limit(1));
  if (found === undefined) return (yield* one(own.limit(1))) === undefined ? 'done' : 'waiting';
  const locked = yield* lockConversation(q, { userId, id: found.id });
  if (locked === undefined || locked.run_id !== null) return 'more';
  const hasMore =
    (yield* deleteSomeEvents(q, locked.key)) || (yield* deleteSomeFromIndex(q, locked.key, stepRowsMax));
  if (!hasMore) yield* deleteRows(q, locked);
  return 'more';
}

function* purgeTables(q: Queries, userId: number): Steps<PurgeProgress> {
  for (const [table, column] of plainTables) {
    const deleted = yield* rows(deleteSome(q, table, column, userId));
    if (deleted.length > 0) return 'more';
  }
  // Entries about the user itself stay, without the name.
  const others = sql`select id from audit where user_id = ${userId} and action not like 'user.%' limit ${stepRowsMax}`;
  const audited = sql<{ one: number }>`delete from audit where id in (${others}) returning 1 as one`;
  const deleted = yield* rows({ compile: () => audited.compile(q.build) });
  return deleted.length > 0 ? 'more' : 'done';
}

function deleteSome(q: Queries, table: string, column: string, userId: number) {
  const [from, by] = [sql.table(table), sql.ref(column)];
  const query = sql<{ one: number }>`
    delete from ${from} where user_id = ${userId}
      and ${by} in (select ${by} from ${from} where user_id = ${userId} limit ${stepRowsMax})
    returning 1 as one`;
  return { compile: () => query.compile(q.build) };
}

function* hasSnapshots(q: Queries, userId: number): Steps<boolean> {
  const found = q.build.selectFrom('snapshots').select('id').where('user_id', '=', userId).limit(1);
  return (yield* one(found)) !== undefined;
}

interface PurgeQuery {
  /** How long ago the user must have been removed. */
  readonly removedMs: number;
}

const isDue = (q: Queries, removedMs: number) =>
  sql<boolean>`removed_at is not null and purged_at is null
    and (purging_at is not null or removed_at <= ${q.now} - ${removedMs})`;

interface PurgePage extends PurgeQuery {
  /** Only users with a higher id are listed. */
  readonly after: number;
  readonly max: number;
}

/** Users whose data must be deleted, by id. */
export const listPurgeable = read(
  'accounts.listPurgeable',
  function* (q, { removedMs, after, max }: PurgePage): Steps<number[]> {
    const due = q.build.selectFrom('users').select('id').where(isDue(q, removedMs));
    return (yield* rows(due.where('id', '>', after).orderBy('id').limit(max))).map(({ id }) => id);
  },
);

/** Locks the user. From the first step on, the user cannot be restored, and the name is free. */
function* begin(q: Queries, { userId, removedMs }: PurgeStep): Steps<boolean> {
  const locked = yield* one(
    q.build
      .updateTable('users')
      .set({ purging_at: sql<number>`coalesce(purging_at, ${q.now})`, name: purgedName(userId) })
      .where('id', '=', userId)
      .where(isDue(q, removedMs))
      .returning('id'),
  );
  return locked !== undefined;
}

function* finish(q: Queries, userId: number): Steps<void> {
  const subject = purgedName(userId);
  yield* rows(q.build.updateTable('audit').set({ subject }).where('user_id', '=', userId));
  yield* rows(q.build.updateTable('users').set({ purged_at: q.now }).where('id', '=', userId));
  yield* recordAudit(q, [{ userId, keyId: 'service', action: 'user.purge', subject }]);
}

interface PurgeStep extends PurgeQuery {
  readonly userId: number;
}

/** Deletes a part of what is left of a user who was removed long enough ago. */
export const purgeStep = write('accounts.purge', function* (q, input: PurgeStep): Steps<PurgeProgress> {
  const { userId } = input;
  if (!(yield* begin(q, input))) return 'done';
  for (const purge of [purgeWebhook, purgeImport, purgeConversation, purgeTables]) {
    const progress = yield* purge(q, userId);
    if (progress !== 'done') return progress;
  }
  if (yield* hasSnapshots(q, userId)) return 'waiting';
  yield* finish(q, userId);
  return 'done';
});

export const purgeTransactions = [listPurgeable, purgeStep];

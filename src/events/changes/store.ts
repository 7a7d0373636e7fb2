// The changes of a user's conversations in the order of their commits, for subscribers. They are deleted after a while.
import { sql } from 'kysely';
import {
  one,
  prepared,
  type Queries,
  type Query,
  read,
  repeatableWrite,
  rows,
  type Steps,
} from '../../db/transaction.ts';

/** A position in the changes of a user. `at` shows whether the changes after it are still kept. */
export interface ChangePosition {
  readonly at: number;
  /** The transaction id of PostgreSQL; 0 on SQLite, which commits in order. */
  readonly transaction: string;
  readonly id: number;
}

export interface StoredChange extends ChangePosition {
  readonly json: string;
}

interface NewChange {
  readonly userId: number;
  readonly json: string;
}

// Numbers are never reused, even after all changes were deleted.
const insertOnSqlite = prepared((q: Queries, { userId, json }: NewChange) => {
  const next = sql<number>`(select max(coalesce(max(id) + 1, 0), ${q.now}) from changes where user_id = ${userId})`;
  return q.build.insertInto('changes').values({ user_id: userId, id: next, at: q.now, json });
});

const insertOnPostgres = prepared((q: Queries, { userId, json }: NewChange) =>
  q.build.insertInto('changes').values({ user_id: userId, at: q.now, json }),
);

/** Call this in the transaction of the change. */
export function* recordChange(q: Queries, userId: number, json: string): Steps<void> {
  const insert = q.kind === 'sqlite' ? insertOnSqlite : insertOnPostgres;
  yield* rows(insert(q, { userId, json }));
}

/** Returns the position of a subscriber that wants only new changes. */
export const newestPosition = read('changes.newest', function* (q, userId: number): Steps<ChangePosition> {
  if (q.kind === 'postgres') {
    const transaction = sql<string>`pg_snapshot_xmin(pg_current_snapshot())::text`;
    const row = yield* one(q.build.selectNoFrom([q.now.as('at'), transaction.as('transaction')]));
    return { at: row?.at ?? 0, transaction: row?.transaction ?? '0', id: 0 };
  }
  const row = yield* one(
    q.build
      .selectFrom('changes')
      .select([q.now.as('at'), (e) => e.fn.coalesce(e.fn.max('id'), sql<number>`0`).as('id')])
      .where('user_id', '=', userId),
  );
  return { at: row?.at ?? 0, transaction: '0', id: row?.id ?? 0 };
});

/** The time of the last restore from a backup. Positions from before it are of another history. */
const restoredFact = 'restored-at';

/** Returns 0 if the database was never restored. */
export const findRestoredAt = read('changes.findRestoredAt', function* (q): Steps<number> {
  const found = yield* one(q.build.selectFrom('facts').select('value').where('name', '=', restoredFact));
  return Number(found?.value ?? 0);
});

/** Subscribers with an older position read everything again. */
export function* recordRestore(q: Queries): Steps<void> {
  const value = sql<string>`cast(${q.now} as text)`;
  yield* rows(
    q.build
      .insertInto('facts')
      .values({ name: restoredFact, value })
      .onConflict((c) => c.column('name').doUpdateSet({ value })),
  );
}

interface ChangesAfter {
  readonly userId: number;
  readonly position: ChangePosition;
  readonly max: number;
}

/** Returns the changes after a position, in order. */
export const readChanges = read('changes.read', function* (q, { userId, position, max }: ChangesAfter): Steps<
  StoredChange[]
> {
  const query = q.build.selectFrom('changes').where('user_id', '=', userId).limit(max);
  if (q.kind === 'sqlite')
    return yield* rows(
      query
        .select(['id', 'at', 'json', sql<string>`'0'`.as('transaction')])
        .where('id', '>', position.id)
        .orderBy('id'),
    );
  // The table must be named, because the name alone would refer to the selected text.
  const transaction = sql.ref<string>('changes.transaction');
  return yield* rows(
    query
      .select(['id', 'at', 'json', sql<string>`transaction::text`.as('transaction')])
      .where(sql<boolean>`(transaction, id) > (${position.transaction}::xid8, ${position.id})`)
      // A transaction that began earlier may still commit.
      .where(sql<boolean>`transaction < pg_snapshot_xmin(pg_current_snapshot())`)
      .orderBy(transaction)
      .orderBy('id'),
  );
});

interface ChangePurge {
  readonly userId: number;
  readonly ageMs: number;
  readonly max: number;
}

// On SQLite, a number is never below its time. On PostgreSQL, the oldest changes come first in the order of the key.
function deleteOld(q: Queries, { userId, ageMs, max }: ChangePurge): Query<{ id: number }> {
  const old = sql<number>`${q.now} - ${ageMs}`;
  const mine = q.build.selectFrom('changes').where('user_id', '=', userId).limit(max);
  const deletion = q.build
    .deleteFrom('changes')
    .where('changes.user_id', '=', userId)
    .returning('changes.id');
  if (q.kind === 'sqlite')
    return deletion.where(
      'id',
      'in',
      mine.select('id').where('id', '<', old).where('at', '<', old).orderBy('id'),
    );
  const oldest = mine
    .select(['id', 'at', sql.ref('changes.transaction').as('of')])
    .orderBy(sql.ref('changes.transaction'))
    .orderBy('id')
    .as('oldest');
  return deletion
    .using(oldest)
    .whereRef('changes.id', '=', 'oldest.id')
    .where(sql<boolean>`changes.transaction = oldest.of`)
    .where('oldest.at', '<', old);
}

/** Deletes old changes of a user, oldest first, up to `max`. Returns how many. */
export const purgeChanges = repeatableWrite(
  'changes.purge',
  function* (q, purge: ChangePurge): Steps<number> {
    return (yield* rows(deleteOld(q, purge))).length;
  },
);

interface NewestChange {
  readonly userId: number;
  readonly transaction: string;
  readonly id: number;
}

/** Returns the newest change of each of these users that can be streamed. */
export const findNewestChanges = read('changes.findNewest', function* (q, userIds: readonly number[]): Steps<
  NewestChange[]
> {
  if (q.kind === 'sqlite')
    return yield* rows(
      q.build
        .selectFrom('changes')
        .select((e) => ['user_id as userId', sql<string>`'0'`.as('transaction'), e.fn.max('id').as('id')])
        .where('user_id', 'in', [...userIds])
        .groupBy('user_id'),
    );
  const query = sql<NewestChange>`
    select u.id as "userId", newest.transaction::text as transaction, newest.id
    from unnest(${[...userIds]}::bigint[]) as u (id), lateral (
      select transaction, id from changes
      where user_id = u.id and transaction < pg_snapshot_xmin(pg_current_snapshot())
      order by changes.transaction desc, id desc limit 1) as newest`;
  return yield* rows({ compile: () => query.compile(q.build) });
});

export const changeTransactions = [
  newestPosition,
  findRestoredAt,
  readChanges,
  purgeChanges,
  findNewestChanges,
];

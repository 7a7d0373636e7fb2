// What happened to the conversations of a user, in the order of the commits, for those who follow. Kept for a while.
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

/** A place in the changes of a user. `at` tells whether what follows it is still kept. */
export interface ChangePlace {
  readonly at: number;
  /** PostgreSQL's transaction; 0 on SQLite, which commits in order. */
  readonly transaction: string;
  readonly id: number;
}

export interface StoredChange extends ChangePlace {
  readonly json: string;
}

interface NewChange {
  readonly userId: number;
  readonly json: string;
}

// Numbers never come again, even after all of them were forgotten.
const insertOnSqlite = prepared((q: Queries, { userId, json }: NewChange) => {
  const next = sql<number>`(select max(coalesce(max(id) + 1, 0), ${q.now}) from changes where user_id = ${userId})`;
  return q.build.insertInto('changes').values({ user_id: userId, id: next, at: q.now, json });
});

const insertOnPostgres = prepared((q: Queries, { userId, json }: NewChange) =>
  q.build.insertInto('changes').values({ user_id: userId, at: q.now, json }),
);

/** To be called in the transaction of the change. */
export function* recordChange(q: Queries, userId: number, json: string): Steps<void> {
  const insert = q.kind === 'sqlite' ? insertOnSqlite : insertOnPostgres;
  yield* rows(insert(q, { userId, json }));
}

/** Where a follower begins who wants only what is new. */
export const newestPlace = read('changes.newest', function* (q, userId: number): Steps<ChangePlace> {
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

interface ChangesAfter {
  readonly userId: number;
  readonly place: ChangePlace;
  readonly max: number;
}

/** What follows a place, in order. */
export const readChanges = read('changes.read', function* (q, { userId, place, max }: ChangesAfter): Steps<
  StoredChange[]
> {
  const query = q.build.selectFrom('changes').where('user_id', '=', userId).limit(max);
  if (q.kind === 'sqlite')
    return yield* rows(
      query
        .select(['id', 'at', 'json', sql<string>`'0'`.as('transaction')])
        .where('id', '>', place.id)
        .orderBy('id'),
    );
  // With its table, for the name alone would be the text that is selected.
  const transaction = sql.ref<string>('changes.transaction');
  return yield* rows(
    query
      .select(['id', 'at', 'json', sql<string>`transaction::text`.as('transaction')])
      .where(sql<boolean>`(transaction, id) > (${place.transaction}::xid8, ${place.id})`)
      // One that began earlier may still commit.
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

// On SQLite a number is never below its time; on PostgreSQL the oldest come first in the order of the key.
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

/** Forgets old changes of a user, oldest first, a bounded number at a time. Returns how many. */
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

/** The newest change of each of these users that a follower could be sent. */
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

export const changeTransactions = [newestPlace, readChanges, purgeChanges, findNewestChanges];

// What happened to the conversations of a user, in the order of the commits, for those who follow. Kept for a while.
import { sql } from 'kysely';
import { one, prepared, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';

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

export interface ChangesAfter {
  readonly userId: number;
  readonly place: ChangePlace;
  readonly max: number;
}

/** What follows a place. Undefined where it has been forgotten since. */
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

export interface ChangePurge {
  readonly userId: number;
  readonly ageMs: number;
  readonly max: number;
}

/** Forgets old changes of a user, oldest first, a bounded number at a time. Returns how many. */
export const purgeChanges = write(
  'changes.purge',
  function* (q, { userId, ageMs, max }: ChangePurge): Steps<number> {
    const old = sql<number>`${q.now} - ${ageMs}`;
    const oldest = q.build
      .selectFrom('changes')
      .select('id')
      .where('user_id', '=', userId)
      .where('at', '<', old)
      .orderBy('id')
      .limit(max);
    const purged = yield* rows(
      q.build.deleteFrom('changes').where('user_id', '=', userId).where('id', 'in', oldest).returning('id'),
    );
    return purged.length;
  },
);

export const changeTransactions = [newestPlace, readChanges, purgeChanges];

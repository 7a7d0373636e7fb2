// Finds what inactive users still run.
import { sql } from 'kysely';
import { read, rows, type Steps } from '../db/transaction.ts';

/** Inactive users who still have conversations that run or wait for a worker. */
export const listStillRunning = read('accounts.listStillRunning', function* (q, max: number): Steps<
  number[]
> {
  const of = (condition: string) =>
    sql<boolean>`exists (select key from conversations where user_id = users.id and ${sql.raw(condition)})`;
  const found = yield* rows(
    q.build
      .selectFrom('users')
      .select('id')
      .where(sql<boolean>`(disabled_at is not null or removed_at is not null) and purged_at is null`)
      .where((e) =>
        e.or([
          of("run_id is not null and status <> 'STOPPED'"),
          of("run_id is null and status <> 'STOPPED'"),
        ]),
      )
      .limit(max),
  );
  return found.map(({ id }) => id);
});

interface LiveQuery {
  readonly userId: number;
  readonly max: number;
}

/** Ids of conversations of a user that are not stopped. */
export const listLive = read('accounts.listLive', function* (q, { userId, max }: LiveQuery): Steps<string[]> {
  const live = q.build
    .selectFrom('conversations')
    .select('id')
    .where('user_id', '=', userId)
    .where('status', '<>', 'STOPPED')
    .limit(max);
  // Each condition has an index of its own.
  const waiting = yield* rows(live.where('run_id', 'is', null));
  const running = yield* rows(live.where('run_id', 'is not', null));
  return [...running, ...waiting].map(({ id }) => id);
});

export const liveTransactions = [listStillRunning, listLive];

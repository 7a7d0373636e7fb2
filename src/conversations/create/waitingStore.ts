// Counts the conversations of users that wait for a worker.
import { sql } from 'kysely';
import { one, prepared, type Queries, type Query, rows, type Steps } from '../../db/transaction.ts';
import { isWaiting, ofReserved, reservedOrder } from '../waitingUsers.ts';

interface Count {
  readonly userId: number;
  /** The count stops here. */
  readonly max: number;
  /** Counts only conversations that have waited at least this long. */
  readonly waitedMs?: number;
  /** Counts only conversations that are reserved for this machine; empty means not reserved. */
  readonly reservedFor?: string | undefined;
}

function count(q: Queries, { userId, max, waitedMs, reservedFor }: Count): Query<{ count: number }> {
  const hasWaited = waitedMs === undefined ? sql`` : sql`and updated_at <= ${q.now} - ${waitedMs}`;
  const chosen =
    reservedFor === undefined
      ? sql`user_id between ${userId} and ${userId}`
      : ofReserved(sql.val(userId), reservedFor);
  const query = sql<{ count: number }>`
    select count(*) as count from (
      select key from conversations where ${chosen} and ${isWaiting} ${hasWaited}
      order by ${reservedOrder} limit ${max}) as counted`;
  return { compile: () => query.compile(q.build) };
}

const countAll = prepared((q: Queries, { userId, max }: Count) => count(q, { userId, max }));

export function* countWaitingSteps(q: Queries, counted: Count): Steps<number> {
  const found = yield* one(counted.waitedMs === undefined ? countAll(q, counted) : count(q, counted));
  return Number(found?.count ?? 0);
}

interface UserCount {
  readonly user_id: number;
  readonly count: number;
}

/** Counts for several users with one statement. It has no name: a kept plan could date from when the table was small. */
function countEach(q: Queries, userIds: readonly number[], max: number): Query<UserCount> {
  const query = sql<UserCount>`
    select named.user_id, (
      select count(*) from (
        select key from conversations where user_id between named.user_id and named.user_id and ${isWaiting}
        order by ${reservedOrder} limit ${max}) as counted) as count
    from unnest(${userIds}::bigint[]) as named (user_id)`;
  return { compile: () => query.compile(q.build) };
}

/** How many conversations of each user wait, up to `max`. Only for PostgreSQL. */
export function* countWaitingOf(
  q: Queries,
  userIds: readonly number[],
  max: number,
): Steps<Map<number, number>> {
  const counted = yield* rows(countEach(q, userIds, max));
  return new Map(counted.map(({ user_id, count }) => [user_id, Number(count)]));
}

// Locks users, so that transactions that compare the number of a user's conversations with a limit come one after the
// other. The order is: users, then conversations.
import { sql } from 'kysely';
import { one, prepared, type Queries, type Query, rows, type Steps } from '../db/transaction.ts';

interface LockedUser {
  readonly id: number;
}

/** Does not wait for inserts of rows that refer to the user, nor they for it. */
const lockRows = prepared((q: Queries, { userIds }: { userIds: readonly number[] }): Query<LockedUser> => {
  const query = sql<LockedUser>`
    select id from users where id = any(${userIds}::bigint[]) order by id for no key update`;
  return { compile: () => query.compile(q.build) };
});

const lockFreeRow = prepared((q: Queries, { userId }: { userId: number }) =>
  q.build.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().skipLocked(),
);

/** Locks the users until the transaction ends, in the order of their ids. SQLite has only one writer, and needs no lock. */
export function* lockUsers(q: Queries, userIds: readonly number[]): Steps<void> {
  if (q.kind === 'postgres') yield* rows(lockRows(q, { userIds }));
}

/** Locks one more user without waiting, because that could be for ever. Returns false if another transaction has the lock. */
export function* tryLockUser(q: Queries, userId: number): Steps<boolean> {
  return q.kind === 'sqlite' || (yield* one(lockFreeRow(q, { userId }))) !== undefined;
}

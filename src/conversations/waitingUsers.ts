// Conversations that wait for a worker, and their users, in SQL: for claiming the next one and for the sweep.
import { type RawBuilder, sql } from 'kysely';

export const isWaiting = sql`run_id is null and status <> 'STOPPED'`;

/**
 * The order of the index of waiting conversations, which no other index has. With equations alone instead of ranges,
 * PostgreSQL would look for a user with few conversations among all rows in the order of the key, if it believes that most
 * rows belong to that user.
 */
export const reservedOrder = sql`user_id, reserved_for, key`;

/** Conversations of one user with this reservation. A pair, so that the index ends at the last one. */
export function ofReserved(userId: RawBuilder<unknown>, reservedFor: string) {
  return sql`(user_id, reserved_for) between (${userId}, ${reservedFor}) and (${userId}, ${reservedFor})`;
}

/** The first user with an id above `after` who waits; null if there is none. */
export function nextWaitingUser(after: RawBuilder<unknown>) {
  return sql`(
    select user_id from conversations where ${isWaiting} and user_id > ${after} order by ${reservedOrder} limit 1)`;
}

/**
 * Defines `waiting (user_id)`: the users who wait, and a last row that is null. It jumps from user to user in the index
 * instead of reading every row.
 */
export const withWaitingUsers = sql`
  with recursive waiting (user_id) as (
    select ${nextWaitingUser(sql.lit(0))}
    union all
    select ${nextWaitingUser(sql.ref('waiting.user_id'))} from waiting where user_id is not null)`;

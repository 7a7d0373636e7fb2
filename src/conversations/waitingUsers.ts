// Conversations that wait for a worker, and their users, in SQL: for claiming the next one and for the sweep.
import { sql } from 'kysely';

export const isWaiting = sql`run_id is null and status <> 'STOPPED'`;

/**
 * Defines `waiting (user_id)`: the users who wait, and a last row that is null. It jumps from user to user in the index
 * instead of reading every row.
 */
export const withWaitingUsers = sql`
  with recursive waiting (user_id) as (
    select min(user_id) from conversations where ${isWaiting}
    union all
    select (select min(user_id) from conversations where ${isWaiting} and user_id > waiting.user_id)
    from waiting where user_id is not null)`;

// Where an event lies: one number, with that of its conversation in front. The events of a conversation lie side by
// side, and a key of one number is what SQLite stores best: with two, it would repeat whole events within its tree.
import { type RawBuilder, sql } from 'kysely';

/** Ids are below this. */
export const eventIdsMax = 2 ** 32 - 1;

/** An id as far as there may be one: beyond that, a place would be another conversation's. */
export function boundId(id: number): number {
  return Math.min(Math.max(id, 0), eventIdsMax);
}

/** The id must be within bounds. */
export function placeOf(conversation: number, id: number): RawBuilder<number> {
  return sql<number>`((cast(${conversation} as bigint) << 32) | ${id})`;
}

export const conversationOfPlace = sql<number>`place >> 32`;
export const idOfPlace = sql<number>`place & 4294967295`;

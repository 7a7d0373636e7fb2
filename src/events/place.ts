// Where an event lies: one number, with that of its conversation in front. The events of a conversation lie side by
// side, and a key of one number is what SQLite stores best: with two, it would repeat whole events within its tree.
import { type RawBuilder, sql } from 'kysely';

/** Ids are below this. */
export const eventIdsMax = 2 ** 32 - 1;
/** Conversations are numbered below this: the place after the last of one must be a number, too. */
export const conversationsMax = 2 ** 31 - 1;

/** An id as far as there may be one: beyond that, a place would be another conversation's. */
export function boundId(id: number): number {
  return Math.min(Math.max(id, 0), eventIdsMax);
}

/** The id must be within bounds. */
export function placeOf(conversation: number, id: number): RawBuilder<number> {
  return sql<number>`((cast(${conversation} as bigint) << 32) | ${id})`;
}

/** Whether a place is one of the conversation: as bounds, so that an index serves, and no statistics are needed. */
export function isPlaceOf(conversation: number): RawBuilder<boolean> {
  const first = sql`cast(${conversation} as bigint) << 32`;
  const next = sql`(cast(${conversation} as bigint) + 1) << 32`;
  return sql<boolean>`place >= (${first}) and place < (${next})`;
}

export const idOfPlace = sql<number>`place & 4294967295`;

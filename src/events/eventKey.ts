// The primary key of an event, in the column `place`: the number of its conversation and its id in one integer. SQLite
// stores rows best under a single integer; with two columns, its tree would contain whole events twice.
import { type RawBuilder, sql } from 'kysely';

/** Ids of events are below this. */
export const eventIdsMax = 2 ** 32 - 1;
/** Numbers of conversations are below this, so that the key after the last one still fits. */
export const conversationsMax = 2 ** 31 - 1;

/** Clamps an id to its bounds. Beyond them, the key would belong to another conversation. */
export function boundId(id: number): number {
  return Math.min(Math.max(id, 0), eventIdsMax);
}

/** Expects an id within its bounds. */
export function eventKeyOf(conversation: number, id: number): RawBuilder<number> {
  return sql<number>`((cast(${conversation} as bigint) << 32) | ${id})`;
}

/** Selects the events of a conversation by bounds, so that the index is used without statistics. */
export function isKeyOf(conversation: number): RawBuilder<boolean> {
  const first = sql`cast(${conversation} as bigint) << 32`;
  const next = sql`(cast(${conversation} as bigint) + 1) << 32`;
  return sql<boolean>`place >= (${first}) and place < (${next})`;
}

export const idOfKey = sql<number>`place & 4294967295`;

// The two kinds of log that can be followed: the events of a conversation, and the changes of a user's conversations.

import { conversationTopic, userTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { kib, mib } from '../validation/schema.ts';
import { compareCursors, placeText, readPlace } from './changes/cursor.ts';
import { readChanges } from './changes/store.ts';
import type { Log } from './hub.ts';
import { findEnds, readEvents, type StoredEvent } from './store.ts';

/** Of one reading: whoever wants more reads again. */
const pieceEventsMax = 100;
export const pieceBytesMax = mib;
/** What is held for each follower that does not read. */
const followedBytesMax = 64 * kib;

export function readPiece(
  database: Database,
  key: number,
  from: number,
  below: number,
  bytesMax = pieceBytesMax,
): Promise<StoredEvent[]> {
  const bounds = { max: pieceEventsMax, bytesMax };
  return database.run(readEvents, { conversation: key, from, below, newestFirst: false, ...bounds });
}

/** Whether a piece ends because it is full. */
function wasCut(events: readonly StoredEvent[]): boolean {
  const bytes = events.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  return events.length === pieceEventsMax || bytes >= followedBytesMax;
}

export function conversationLog(database: Database, key: number): Log {
  const isGone = async () => (await database.run(findEnds, [key])).length === 0;
  return {
    topic: conversationTopic(key),
    read: async (cursor) => {
      const from = Number(cursor) + 1;
      const events = await readPiece(database, key, from, Number.MAX_SAFE_INTEGER, followedBytesMax);
      if (events.length === 0 && (await isGone())) return undefined;
      const entries = events.map(({ id, json }) => ({ cursor: String(id), data: json }));
      return { entries, more: wasCut(events) };
    },
    compare: (a, b) => Number(a) - Number(b),
    isGone,
  };
}

export function changesLog(database: Database, userId: number): Log {
  return {
    topic: userTopic(userId),
    read: async (cursor) => {
      const place = readPlace(cursor);
      if (place === undefined) return undefined;
      const changes = await database.run(readChanges, { userId, place, max: pieceEventsMax });
      const entries = changes.map((change) => ({ cursor: placeText(change), data: change.json }));
      return { entries, more: changes.length === pieceEventsMax };
    },
    compare: compareCursors,
    isGone: async () => false,
  };
}

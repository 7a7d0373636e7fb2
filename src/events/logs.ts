// The two kinds of logs that can be streamed: the events of a conversation, and the changes of a user's conversations.

import { conversationTopic, userTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { kib, mib } from '../validation/schema.ts';
import { compareCursors, cursorOf, parseCursor } from './changes/cursor.ts';
import { readChanges } from './changes/store.ts';
import type { LiveConversation, SubscribeToPartials } from './partials/livePartials.ts';
import type { Log } from './receiver.ts';
import { findEnds, readEvents, type StoredEvent } from './store.ts';

/** The limit of one read. Readers that want more read again. */
const pieceEventsMax = 100;
export const pieceBytesMax = mib;
/** Held in memory for each subscriber that does not read. */
const subscriberBytesMax = 64 * kib;

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

/** Whether the piece ends because it is full. */
function wasCut(events: readonly StoredEvent[]): boolean {
  const bytes = events.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  return events.length === pieceEventsMax || bytes >= subscriberBytesMax;
}

export function conversationLog(
  database: Database,
  conversation: LiveConversation,
  openPartials: SubscribeToPartials,
): Log {
  const { key } = conversation;
  const isGone = async () => (await database.run(findEnds, [key])).length === 0;
  return {
    topic: conversationTopic(key),
    read: async (cursor) => {
      const from = Number(cursor) + 1;
      const events = await readPiece(database, key, from, Number.MAX_SAFE_INTEGER, subscriberBytesMax);
      if (events.length === 0 && (await isGone())) return undefined;
      const entries = events.map(({ id, json }) => ({ cursor: String(id), data: json }));
      return { entries, more: wasCut(events) };
    },
    compare: (a, b) => Number(a) - Number(b),
    isGone,
    openPartials: (listener) => openPartials(conversation, listener),
  };
}

export function changesLog(database: Database, userId: number): Log {
  return {
    topic: userTopic(userId),
    read: async (cursor) => {
      const position = parseCursor(cursor);
      if (position === undefined) return undefined;
      const changes = await database.run(readChanges, { userId, position, max: pieceEventsMax });
      const entries = changes.map((change) => ({ cursor: cursorOf(change), data: change.json }));
      return { entries, more: changes.length === pieceEventsMax };
    },
    compare: compareCursors,
    isGone: async () => false,
  };
}

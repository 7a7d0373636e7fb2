// Finds what other processes have written, with few queries even if many logs have subscribers.

import { conversationOf, conversationTopic, userOf, userTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { comparePositions, parseCursor } from './changes/cursor.ts';
import { findNewestChanges } from './changes/store.ts';
import type { Hub } from './hub.ts';
import { findEnds } from './store.ts';

const logsPerQueryMax = 500;

type Cursors = ReadonlyMap<number, string | undefined>;

function* inParts(cursors: Cursors): Generator<number[]> {
  const all = [...cursors.keys()];
  for (let i = 0; i < all.length; i += logsPerQueryMax) yield all.slice(i, i + logsPerQueryMax);
}

function pick(hub: Hub, numberOf: (topic: string) => number | undefined): Cursors {
  const found = new Map<number, string | undefined>();
  for (const { topic, cursor } of hub.openLogs()) {
    const number = numberOf(topic);
    if (number !== undefined) found.set(number, cursor);
  }
  return found;
}

/** Notifies the hub of each log that has grown or is gone. */
export async function notifyForeignChanges(database: Database, hub: Hub): Promise<void> {
  const conversations = pick(hub, conversationOf);
  for (const keys of inParts(conversations)) {
    const ends = await database.run(findEnds, keys);
    const next = new Map(ends.map(({ key, next_event }) => [key, next_event]));
    const moved = keys.filter((key) => next.get(key) !== Number(conversations.get(key) ?? -2) + 1);
    hub.notify(moved.map(conversationTopic));
  }
  const users = pick(hub, userOf);
  for (const userIds of inParts(users)) {
    const newest = await database.run(findNewestChanges, userIds);
    const moved = newest.filter((position) => {
      const seen = parseCursor(users.get(position.userId) ?? '');
      return seen === undefined || comparePositions(position, seen) > 0;
    });
    hub.notify(moved.map(({ userId }) => userTopic(userId)));
  }
}

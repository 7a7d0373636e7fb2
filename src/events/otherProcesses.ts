// What other processes wrote and this one has not heard of: found with few queries, however many logs are followed.

import { conversationOf, conversationTopic, userOf, userTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { comparePlaces, readPlace } from './changes/cursor.ts';
import { findNewestChanges } from './changes/store.ts';
import type { Hub } from './hub.ts';
import { findEnds } from './store.ts';

/** Logs in one query. */
const atOnceMax = 500;

type Cursors = ReadonlyMap<number, string | undefined>;

function* inParts(cursors: Cursors): Generator<number[]> {
  const all = [...cursors.keys()];
  for (let i = 0; i < all.length; i += atOnceMax) yield all.slice(i, i + atOnceMax);
}

function pick(hub: Hub, numberOf: (topic: string) => number | undefined): Cursors {
  const found = new Map<number, string | undefined>();
  for (const { topic, cursor } of hub.followed()) {
    const number = numberOf(topic);
    if (number !== undefined) found.set(number, cursor);
  }
  return found;
}

/** Rings for each log that has grown or is gone. */
export async function lookForOthers(database: Database, hub: Hub): Promise<void> {
  const conversations = pick(hub, conversationOf);
  for (const keys of inParts(conversations)) {
    const ends = await database.run(findEnds, keys);
    const next = new Map(ends.map(({ key, next_event }) => [key, next_event]));
    const moved = keys.filter((key) => next.get(key) !== Number(conversations.get(key) ?? -2) + 1);
    hub.ring(moved.map(conversationTopic));
  }
  const users = pick(hub, userOf);
  for (const userIds of inParts(users)) {
    const newest = await database.run(findNewestChanges, userIds);
    const moved = newest.filter((place) => {
      const seen = readPlace(users.get(place.userId) ?? '');
      return seen === undefined || comparePlaces(place, seen) > 0;
    });
    hub.ring(moved.map(({ userId }) => userTopic(userId)));
  }
}

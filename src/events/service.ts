// Reading the log of a conversation: in pages, as a whole, or followed as it grows.
import type { ServerResponse } from 'node:http';
import { changesKeptMs } from '../changes/service.ts';
import { type ChangePlace, newestPlace, readChanges } from '../changes/store.ts';
import { conversationName, noConversation } from '../conversations/name.ts';
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { Keys } from '../keys/service.ts';
import { conversationTopic, userTopic } from '../topics.ts';
import type { Follower, Hub, Log } from './hub.ts';
import { type EventsQuery, eventsPageMax } from './schema.ts';
import { findEnds, findLog, readEvents, type StoredEvent } from './store.ts';

const pageDefault = 20;
/** Of one reading: whoever wants more reads again. */
const pieceEventsMax = 100;
const pieceBytesMax = 1_048_576;
const streamsMax = 20_000;
const keysCheckedMs = 1_000;
const endsAtOnce = 500;

interface EventsOptions {
  readonly database: Database;
  readonly hub: Hub;
  readonly keys: Pick<Keys, 'isGood'>;
  readonly onBackgroundError: (error: Error) => void;
}

export type Events = ReturnType<typeof createEvents>;

export interface Stream {
  readonly log: Log;
  readonly cursor: string;
  /** What was asked for is no longer kept: the follower must look at the whole again. */
  readonly reset: boolean;
}

function pageLimit(limit: string | undefined): number {
  if (limit === undefined) return pageDefault;
  const number = /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (number < 1 || number > eventsPageMax)
    throw new AppError('bad_limit', `limit must be a whole number from 1 to ${eventsPageMax}.`);
  return number;
}

/** Whether a piece ends because it is full. */
function wasCut(events: readonly StoredEvent[]): boolean {
  const bytes = events.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  return events.length === pieceEventsMax || bytes >= pieceBytesMax;
}

function eventCursor(after: string | undefined): string {
  if (after === undefined) return '-1';
  if (!/^(-1|\d{1,15})$/.test(after))
    throw invalid([{ path: 'after', message: 'must be the id of an event, or -1 for the start' }]);
  return after;
}

function placeText({ at, transaction, id }: ChangePlace): string {
  return `${at}.${transaction}.${id}`;
}

function readPlace(text: string): ChangePlace | undefined {
  const [, at, transaction, id] = /^(\d{1,15})\.(\d{1,20})\.(\d{1,15})$/.exec(text) ?? [];
  return at === undefined || transaction === undefined || id === undefined
    ? undefined
    : { at: Number(at), transaction, id: Number(id) };
}

function comparePlaces(a: ChangePlace, b: ChangePlace): number {
  const apart = BigInt(a.transaction) - BigInt(b.transaction);
  return apart === 0n ? a.id - b.id : apart < 0n ? -1 : 1;
}

function compareCursors(a: string, b: string): number {
  const [first, second] = [readPlace(a), readPlace(b)];
  return first === undefined || second === undefined ? 0 : comparePlaces(first, second);
}

export function createEvents({ database, hub, keys, onBackgroundError }: EventsOptions) {
  const followers = new Map<string, Set<Follower>>();
  let looking = false;

  async function find(principal: Principal, id: string): Promise<{ key: number; next_event: number }> {
    const log = await database.run(findLog, conversationName(principal, id));
    if (log === undefined) throw noConversation();
    return log;
  }

  function readPiece(key: number, from: number, below = Number.MAX_SAFE_INTEGER) {
    return database.run(readEvents, {
      conversation: key,
      from,
      below,
      newestFirst: false,
      max: pieceEventsMax,
      bytesMax: pieceBytesMax,
    });
  }

  /** A page as text, ready to be sent. */
  async function page(principal: Principal, id: string, query: EventsQuery): Promise<string> {
    const max = pageLimit(query.limit);
    const from = Number(query.start_id ?? 0);
    const { key, next_event: next } = await find(principal, id);
    const below = query.end_id === undefined ? next : Math.min(Number(query.end_id) + 1, next);
    const newestFirst = query.reverse === 'true';
    const piece = { conversation: key, from, below, newestFirst, max, bytesMax: pieceBytesMax };
    const events = await database.run(readEvents, piece);
    const last = events.at(-1)?.id;
    const more = last !== undefined && (newestFirst ? last > from : last < below - 1);
    return `{"events":[${events.map(({ json }) => json).join(',')}],"has_more":${more}}`;
  }

  /** The whole log as it was when asked for, in pieces of text. */
  async function trajectory(principal: Principal, id: string): Promise<AsyncGenerator<string>> {
    const { key, next_event: below } = await find(principal, id);
    return (async function* () {
      yield '{"trajectory":[';
      for (let from = 0; from < below; ) {
        const events = await readPiece(key, from, below);
        const last = events.at(-1);
        if (last === undefined) break;
        yield (from === 0 ? '' : ',') + events.map(({ json }) => json).join(',');
        from = last.id + 1;
      }
      yield ']}';
    })();
  }

  function conversationLog(key: number): Log {
    const isGone = async () => (await database.run(findEnds, [key])).length === 0;
    return {
      topic: conversationTopic(key),
      read: async (cursor) => {
        const events = await readPiece(key, Number(cursor) + 1);
        if (events.length === 0 && (await isGone())) return undefined;
        const entries = events.map(({ id, json }) => ({ cursor: String(id), data: json }));
        return { entries, more: wasCut(events) };
      },
      compare: (a, b) => Number(a) - Number(b),
      isGone,
    };
  }

  /** The log of a conversation, to be followed. Throws where there is none, or the cursor is none. */
  async function openConversation(principal: Principal, id: string, after?: string): Promise<Stream> {
    const cursor = eventCursor(after);
    const { key, next_event: next } = await find(principal, id);
    // Events that are not there yet cannot have been seen.
    const past = Number(cursor) >= next;
    return { log: conversationLog(key), cursor: past ? String(next - 1) : cursor, reset: false };
  }

  function changesLog(userId: number): Log {
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

  /** The changes of a user's conversations: what is new from now on, or what followed a cursor. */
  async function openChanges({ userId }: Principal, after?: string): Promise<Stream> {
    const place = after === undefined ? undefined : readPlace(after);
    if (after !== undefined && place === undefined)
      throw invalid([{ path: 'after', message: 'must be an id that this stream has sent' }]);
    const newest = await database.run(newestPlace, userId);
    const reset = place !== undefined && place.at < newest.at - changesKeptMs;
    // What is not there yet cannot have been seen.
    const known = place !== undefined && !reset && comparePlaces(place, newest) <= 0;
    return { log: changesLog(userId), cursor: placeText(known ? place : newest), reset };
  }

  /** Throws where one more is too many: to be asked before the head of the answer is sent. */
  function checkRoom(): void {
    if (hub.size() >= streamsMax)
      throw new AppError('overloaded', 'Too many streams are open; try again later.', { retryAfterS: 5 });
  }

  /** Writes the log to the response until either side ends it, or the key no longer counts. */
  function follow({ keyId }: Principal, { log, cursor }: Stream, response: ServerResponse): void {
    // It may have gone while its log was looked up.
    if (response.destroyed) return;
    const follower = hub.follow(log, cursor, response);
    const mine = followers.get(keyId) ?? new Set();
    followers.set(keyId, mine.add(follower));
    response.on('close', () => {
      mine.delete(follower);
      if (mine.size === 0 && followers.get(keyId) === mine) followers.delete(keyId);
    });
  }

  async function endRevoked(): Promise<void> {
    for (const [keyId, mine] of followers)
      if (!(await keys.isGood(keyId))) for (const follower of mine) follower.end();
  }
  const revocations = setInterval(() => void endRevoked().catch(onBackgroundError), keysCheckedMs);
  revocations.unref();

  /** Another process may have written: finds what has grown with few queries, however many follow. */
  async function lookAround(): Promise<void> {
    const cursors = new Map(hub.followed().map(({ topic, cursor }) => [topic, cursor]));
    const conversations = [...cursors.keys()].filter((topic) => topic.startsWith('c'));
    hub.ring([...cursors.keys()].filter((topic) => !topic.startsWith('c')));
    for (let i = 0; i < conversations.length; i += endsAtOnce) {
      const some = conversations.slice(i, i + endsAtOnce);
      const ends = await database.run(
        findEnds,
        some.map((topic) => Number(topic.slice(1))),
      );
      const next = new Map(ends.map((end) => [conversationTopic(end.key), end.next_event]));
      hub.ring(some.filter((topic) => next.get(topic) !== Number(cursors.get(topic) ?? -2) + 1));
    }
  }

  database.onRing(hub.ring);
  database.onForeignChange(() => {
    if (looking) return;
    looking = true;
    lookAround()
      .catch(onBackgroundError)
      .finally(() => (looking = false));
  });

  return {
    page,
    trajectory,
    openConversation,
    openChanges,
    checkRoom,
    follow,
    close: () => {
      clearInterval(revocations);
      hub.close();
    },
  };
}

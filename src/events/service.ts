// Reading the log of a conversation: in pages, as a whole, or followed as it grows.
import type { ServerResponse } from 'node:http';
import { conversationName, noConversation } from '../conversations/id.ts';
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import type { Keys } from '../keys/service.ts';
import { repeat, repeatable } from '../process/repeat.ts';
import { wholeNumber } from '../validation/schema.ts';
import { comparePlaces, placeText, readPlace } from './changes/cursor.ts';
import { changesKeptMs } from './changes/service.ts';
import { newestPlace } from './changes/store.ts';
import type { Following, Hub, Log } from './hub.ts';
import { changesLog, conversationLog, pieceBytesMax, readPiece } from './logs.ts';
import { lookForOthers } from './otherProcesses.ts';
import { type EventsQuery, eventsPageMax } from './schema.ts';
import { findLog, readEvents } from './store.ts';

const pageDefault = 20;
const streamsMax = 20_000;
const streamsPerKeyMax = 10_000;
const keysCheckEveryMs = 1_000;

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

function pageLimit(text: string | undefined): number {
  if (text === undefined) return pageDefault;
  const limit = wholeNumber(text, eventsPageMax);
  if (limit === undefined)
    throw new AppError('bad_limit', `limit must be a whole number from 1 to ${eventsPageMax}.`);
  return limit;
}

function eventCursor(after: string | undefined): string {
  if (after === undefined) return '-1';
  if (!/^(-1|\d{1,15})$/.test(after))
    throw invalid([
      { path: 'after', message: 'or Last-Event-ID must be the id of an event, or -1 for the start' },
    ]);
  return after;
}

export function createEvents({ database, hub, keys, onBackgroundError }: EventsOptions) {
  const followings = new Map<string, Set<Following>>();

  async function find(principal: Principal, id: string): Promise<{ key: number; next_event: number }> {
    const log = await database.run(findLog, conversationName(principal, id));
    if (log === undefined) throw noConversation();
    return log;
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
        const events = await readPiece(database, key, from, below);
        const last = events.at(-1);
        // Deleted meanwhile: a broken answer, rather than one that looks whole.
        if (last === undefined) throw noConversation();
        yield (from === 0 ? '' : ',') + events.map(({ json }) => json).join(',');
        from = last.id + 1;
      }
      yield ']}';
    })();
  }

  /** The log of a conversation, to be followed. Throws where there is none, or the cursor is none. */
  async function openConversation(principal: Principal, id: string, after?: string): Promise<Stream> {
    const cursor = eventCursor(after);
    const { key, next_event: next } = await find(principal, id);
    // Events that are not there yet cannot have been seen.
    const past = Number(cursor) >= next;
    return { log: conversationLog(database, key), cursor: past ? String(next - 1) : cursor, reset: false };
  }

  /** The changes of a user's conversations: what is new from now on, or what followed a cursor. */
  async function openChanges({ userId }: Principal, after?: string): Promise<Stream> {
    const place = after === undefined ? undefined : readPlace(after);
    if (after !== undefined && place === undefined)
      throw invalid([{ path: 'after', message: 'or Last-Event-ID must be an id that this stream has sent' }]);
    const newest = await database.run(newestPlace, userId);
    const reset = place !== undefined && place.at < newest.at - changesKeptMs;
    // What is not there yet cannot have been seen.
    const known = place !== undefined && !reset && comparePlaces(place, newest) <= 0;
    return { log: changesLog(database, userId), cursor: placeText(known ? place : newest), reset };
  }

  /** Throws where one more is too many: to be asked before the head of the answer is sent. */
  function checkRoom({ keyId }: Principal, response: ServerResponse): void {
    // Behind another answer it would wait unseen, and behind a stream for ever.
    if (response.socket === null)
      throw new AppError('malformed_request', 'A stream needs a connection of its own: send it first.');
    const mine = followings.get(keyId)?.size ?? 0;
    if (hub.size() < streamsMax && mine < streamsPerKeyMax) return;
    throw new AppError('overloaded', 'Too many streams are open; try again later.', { retryAfterS: 5 });
  }

  /** Writes the log to the response until either side ends it, or the key no longer counts. */
  function follow({ keyId }: Principal, { log, cursor }: Stream, response: ServerResponse): void {
    // It may have gone while its log was looked up.
    if (response.destroyed) return;
    const following = hub.follow(log, cursor, response);
    const mine = followings.get(keyId) ?? new Set();
    followings.set(keyId, mine.add(following));
    response.on('close', () => {
      mine.delete(following);
      if (mine.size === 0 && followings.get(keyId) === mine) followings.delete(keyId);
    });
  }

  async function endRevoked(): Promise<void> {
    for (const [keyId, mine] of followings)
      if (!(await keys.isGood(keyId))) for (const following of mine) following.end();
  }

  const revocations = repeat(endRevoked, keysCheckEveryMs, onBackgroundError);
  const looks = repeatable(() => lookForOthers(database, hub), onBackgroundError);
  database.onNotification(hub.ring);
  database.onForeignChange(looks.run);

  return {
    page,
    trajectory,
    openConversation,
    openChanges,
    checkRoom,
    follow,
    close: () => {
      void revocations.stop();
      hub.close();
    },
  };
}

// Reads the log of a conversation: in pages, as a whole, or as a stream.
import type { ServerResponse } from 'node:http';
import { conversationName, noConversation } from '../conversations/id.ts';
import { conversationOf } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import { createConnectionLimit } from '../keys/connectionLimit.ts';
import type { Principal } from '../keys/principal.ts';
import type { Keys } from '../keys/service.ts';
import { systemClock } from '../process/clock.ts';
import { repeat, repeatable } from '../process/repeat.ts';
import { isTrue, wholeNumber } from '../validation/schema.ts';
import { comparePositions, cursorOf, parseCursor } from './changes/cursor.ts';
import { changesKeptMs } from './changes/service.ts';
import { findRestoredAt, newestPosition } from './changes/store.ts';
import { notifyForeignChanges } from './foreignChanges.ts';
import type { Hub, Subscription } from './hub.ts';
import { changesLog, conversationLog, pieceBytesMax, readPiece } from './logs.ts';
import type { LivePartials, SubscribeToPartials } from './partials/livePartials.ts';
import { relayPartials } from './partials/relay.ts';
import type { Log, Receiver } from './receiver.ts';
import { type EventsQuery, eventsPageMax } from './schema.ts';
import { findLog, readEvents, recordFollowed } from './store.ts';
import { createUnsentBytes } from './unsentBytes.ts';

const pageDefault = 20;
const streamsMax = 20_000;
const keysCheckEveryMs = 1_000;
/** New subscribers are recorded after this time at the latest, and all of them again after some rounds. */
const followedEveryMs = 1_000;
const followedAgainRounds = 15;
const followedAtOnceMax = 1_000;

interface EventsOptions {
  readonly database: Database;
  readonly hub: Hub;
  readonly keys: Pick<Keys, 'isGood'>;
  readonly livePartials: LivePartials;
  readonly openPartials: SubscribeToPartials;
  /** How many streams a user may have open; 0 means no limit. */
  readonly streamsMax: number;
  /** How many processes share that limit. */
  readonly sharing: () => number;
  readonly onBackgroundError: (error: Error) => void;
}

export type Events = ReturnType<typeof createEvents>;

export interface Stream {
  readonly log: Log;
  readonly cursor: string;
  /** The requested changes are no longer kept, so the subscriber must read the whole list again. */
  readonly reset: boolean;
}

export interface ConversationStream extends Stream {
  /** The id of the next event when the stream was opened. */
  readonly next: number;
  readonly title: string;
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

export function createEvents(options: EventsOptions) {
  const { database, hub, keys, livePartials, openPartials, sharing, onBackgroundError } = options;
  const subscriptions = new Map<string, Set<Subscription>>();
  const newlyFollowed = new Set<number>();
  /** Open responses to other processes. */
  const relays = new Set<ServerResponse>();
  let round = 0;

  async function find(
    principal: Principal,
    id: string,
  ): Promise<{ key: number; next_event: number; title: string }> {
    const log = await database.run(findLog, conversationName(principal, id));
    if (log === undefined) throw noConversation();
    return log;
  }

  /** Returns the page as JSON text. */
  async function page(principal: Principal, id: string, query: EventsQuery): Promise<string> {
    const max = pageLimit(query.limit);
    const from = Number(query.start_id ?? 0);
    const { key, next_event: next } = await find(principal, id);
    const below = query.end_id === undefined ? next : Math.min(Number(query.end_id) + 1, next);
    const newestFirst = isTrue(query.reverse);
    const piece = { conversation: key, from, below, newestFirst, max, bytesMax: pieceBytesMax };
    const events = await database.run(readEvents, piece);
    const last = events.at(-1)?.id;
    const more = last !== undefined && (newestFirst ? last > from : last < below - 1);
    return `{"events":[${events.map(({ json }) => json).join(',')}],"has_more":${more}}`;
  }

  /** Returns the whole log as it is now, in pieces of JSON text. */
  async function trajectory(principal: Principal, id: string): Promise<AsyncGenerator<string>> {
    const { key, next_event: below } = await find(principal, id);
    return (async function* () {
      yield '{"trajectory":[';
      for (let from = 0; from < below; ) {
        const events = await readPiece(database, key, from, below);
        const last = events.at(-1);
        // The conversation was deleted meanwhile. A broken response is better than one that looks complete.
        if (last === undefined) throw noConversation();
        yield (from === 0 ? '' : ',') + events.map(({ json }) => json).join(',');
        from = last.id + 1;
      }
      yield ']}';
    })();
  }

  /** Opens the stream of a conversation. Throws if the conversation does not exist or the cursor is invalid. */
  async function openConversation(
    principal: Principal,
    id: string,
    after?: string,
  ): Promise<ConversationStream> {
    const cursor = eventCursor(after);
    const { key, next_event: next, title } = await find(principal, id);
    // The client cannot have seen events that do not exist yet.
    const past = Number(cursor) >= next;
    const log = conversationLog(database, { ...conversationName(principal, id), key }, openPartials);
    return { log, cursor: past ? String(next - 1) : cursor, reset: false, next, title };
  }

  /** Opens the stream of the changes of a user's conversations, from now on or after a cursor. */
  async function openChanges({ userId }: Principal, after?: string): Promise<Stream> {
    const position = after === undefined ? undefined : parseCursor(after);
    if (after !== undefined && position === undefined)
      throw invalid([{ path: 'after', message: 'or Last-Event-ID must be an id that this stream has sent' }]);
    const newest = await database.run(newestPosition, userId);
    const reset =
      position !== undefined &&
      position.at < Math.max(newest.at - changesKeptMs, await database.run(findRestoredAt, null));
    // The client cannot have seen changes that do not exist yet.
    const known = position !== undefined && !reset && comparePositions(position, newest) <= 0;
    return { log: changesLog(database, userId), cursor: cursorOf(known ? position : newest), reset };
  }

  /** The conversation, if it has a run in this process. */
  async function findRunHere(principal: Principal, id: string): Promise<number | undefined> {
    const log = await database.run(findLog, conversationName(principal, id));
    return log !== undefined && livePartials.runOf(log.key) !== undefined ? log.key : undefined;
  }

  /** Sends the log to the receiver until either side closes it or the API key is no longer valid. */
  function subscribe({ keyId }: Principal, { log, cursor }: Stream, receiver: Receiver): void {
    const conversation = conversationOf(log.topic);
    if (conversation !== undefined) newlyFollowed.add(conversation);
    const subscription = hub.subscribe(log, cursor, receiver);
    const mine = subscriptions.get(keyId) ?? new Set();
    subscriptions.set(keyId, mine.add(subscription));
    receiver.onClose(() => {
      mine.delete(subscription);
      if (mine.size === 0 && subscriptions.get(keyId) === mine) subscriptions.delete(keyId);
    });
  }

  async function endRevoked(): Promise<void> {
    for (const [keyId, mine] of subscriptions)
      if (!(await keys.isGood(keyId))) for (const subscription of mine) subscription.end();
  }

  /** Keeps conversations that somebody follows from being stopped as unattended. */
  async function recordSubscribed(): Promise<void> {
    round = (round + 1) % followedAgainRounds;
    const all = () => hub.openLogs().map(({ topic }) => conversationOf(topic));
    const followed = round === 0 ? all().filter((key) => key !== undefined) : [...newlyFollowed];
    newlyFollowed.clear();
    for (let i = 0; i < followed.length; i += followedAtOnceMax)
      await database.run(recordFollowed, followed.slice(i, i + followedAtOnceMax));
  }

  const subscribed = repeat(recordSubscribed, followedEveryMs, onBackgroundError);
  const revocations = repeat(endRevoked, keysCheckEveryMs, onBackgroundError);
  const foreignChanges = repeatable(() => notifyForeignChanges(database, hub), onBackgroundError);
  database.onNotification(hub.notify);
  database.onForeignChange(foreignChanges.run);
  // The keys have been forgotten by now, because their cache was registered before.
  database.onForeignChange(revocations.run);

  return {
    page,
    trajectory,
    openConversation,
    openChanges,
    /** Counts streams, sockets, and other responses that last. */
    connections: createConnectionLimit({
      what: 'streams',
      max: streamsMax,
      perUserMax: options.streamsMax,
      hint: ' (PARLEY_STREAMS_MAX)',
      sharing,
    }),
    subscribe,
    findRunHere,
    /** Sends the texts of a run to another process. The headers must have been sent. */
    relay: (key: number, response: ServerResponse) => {
      relays.add(response);
      response.once('close', () => relays.delete(response));
      relayPartials({ livePartials, clock: systemClock }, key, response);
    },
    unsent: createUnsentBytes(),
    close: () => {
      void revocations.stop();
      void subscribed.stop();
      hub.close();
      for (const response of relays) response.end();
    },
  };
}

// `conversation.waiting`: a conversation waits for its user. The delivery names an event, and the message for people is
// read from the log when it is sent, so that a deleted conversation leaves no text behind.
import { sql } from 'kysely';
import { type Database, read, rows, type Steps } from '../db/transaction.ts';
import { boundId, eventKeyOf } from '../events/eventKey.ts';
import { conversationUrl, endOf, startOf } from '../events/notification.ts';

/** How many events before the end of a turn are searched for what the agent said. */
const searchedMax = 100;
/** A long message is stored in several events. */
const piecesMax = 20;

/** What is stored until the delivery is sent. */
export interface Waiting {
  readonly conversation_id: string;
  /** The approval of an action, or an answer to the agent, which has ended its turn. */
  readonly waits_for: 'approval' | 'answer';
  readonly title: string;
  readonly at: string;
}

/** The `data` of the delivery. */
export interface WaitingData extends Waiting {
  /** The event that asks for approval, or the last message of the agent. */
  readonly event_id: number | null;
  readonly message: string;
  /** Null without a public URL. */
  readonly url: string | null;
}

export interface EventPosition {
  readonly userId: number;
  readonly conversationKey: number;
  readonly conversationId: string;
  readonly eventId: number;
}

interface StoredMessage {
  readonly id: number;
  readonly source: string;
  readonly message: string;
  readonly partial?: { readonly of: string };
}

/** Messages of the user and the agent up to an event, the newest first, as JSON. */
export const findLastMessages = read(
  'deliveries.findLastMessages',
  function* (q, place: EventPosition): Steps<string[]> {
    const { conversationKey: key, eventId } = place;
    const found = yield* rows(
      q.build
        .selectFrom('events')
        // Keys are used again after a deletion, so the owner is checked in the same query.
        .innerJoin('conversations', (join) => join.on('conversations.key', '=', key))
        .select('events.json')
        .where('events.place', '>=', eventKeyOf(key, boundId(eventId - searchedMax)))
        .where('events.place', '<=', eventKeyOf(key, eventId))
        .where('conversations.user_id', '=', place.userId)
        .where('conversations.id', '=', place.conversationId)
        .where('events.json', 'like', sql.lit('%"action":"message"%'))
        .orderBy('events.place', 'desc')
        .limit(piecesMax),
    );
    return found.map(({ json }) => json);
  },
);

/** The last message of the agent; undefined if the user spoke last. */
function lastMessage(newestFirst: readonly string[]): { id: number; text: string } | undefined {
  const messages = newestFirst.map((json) => JSON.parse(json) as StoredMessage);
  const [last] = messages;
  if (last?.source !== 'agent') return undefined;
  const of = last.partial?.of;
  const pieces = of === undefined ? [last] : messages.filter(({ partial }) => partial?.of === of);
  return {
    id: last.id,
    text: pieces
      .map(({ message }) => message)
      .reverse()
      .join(''),
  };
}

interface WaitingSource {
  readonly database: Database;
  /** The stored `Waiting`. */
  readonly payload: string;
  readonly place: EventPosition;
  /** The event at `place`. */
  readonly json: string;
  readonly publicUrl: string | undefined;
}

export async function readWaiting(source: WaitingSource): Promise<WaitingData> {
  const { database, payload, place, json, publicUrl } = source;
  const { conversation_id, waits_for, title, at } = JSON.parse(payload) as Waiting;
  const url = conversationUrl(publicUrl, conversation_id);
  if (waits_for === 'approval') {
    const message = startOf((JSON.parse(json) as StoredMessage).message);
    return { conversation_id, waits_for, title, event_id: place.eventId, message, url, at };
  }
  const said = lastMessage(await database.run(findLastMessages, place));
  const message = endOf(said?.text ?? '');
  return { conversation_id, waits_for, title, event_id: said?.id ?? null, message, url, at };
}

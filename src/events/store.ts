// The log of a conversation. Events are appended in the transaction of what they report, and read in bounded pieces.
import { sql } from 'kysely';
import type { ConversationName } from '../conversations/id.ts';
import { one, prepared, type Queries, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';
import { boundId, conversationsMax, eventIdsMax, eventKeyOf, idOfKey, isKeyOf } from './eventKey.ts';

/**
 * An event as JSON without its id, which it gets in the transaction. If it is the result of an action in the same list,
 * `answers` is the index of that action, whose id becomes the `cause`.
 */
export type EventText = string | { readonly text: string; readonly answers: number };

interface Piece {
  readonly conversation: number;
  /** The first id. */
  readonly from: number;
  /** The id after the last one. */
  readonly below: number;
  readonly newestFirst: boolean;
  readonly max: number;
  readonly bytesMax: number;
}

export interface StoredEvent {
  readonly id: number;
  readonly json: string;
}

type Batch = Record<string, number | string>;

function batchOf(size: number) {
  const indices = Array.from({ length: size }, (_, i) => i);
  const insert = prepared((q: Queries, batch: Batch) =>
    q.build.insertInto('events').values(
      indices.map((i) => ({
        place: eventKeyOf(batch['conversation'] as number, batch[`id${i}`] as number),
        json: batch[`json${i}`] as string,
      })),
    ),
  );
  return { size, insert };
}

const many = batchOf(100);
/** Batches of two help PostgreSQL, where each statement is a round trip. On SQLite they would need a statement journal. */
const batches = { sqlite: [many], postgres: [many, batchOf(2)] };

const insertOne = prepared((q: Queries, event: { conversation: number; id: number; json: string }) =>
  q.build.insertInto('events').values({ place: eventKeyOf(event.conversation, event.id), json: event.json }),
);

/** `firstId` is the id of the first event of the same list. */
function numbered(event: EventText, id: number, firstId: number): string {
  if (typeof event === 'string') return `{"id":${id},${event.slice(1)}`;
  return `{"id":${id},"cause":${firstId + event.answers},${event.text.slice(1)}`;
}

/** Inserts events under ids that the caller has reserved by increasing `next_event`. */
export function* insertEvents(
  q: Queries,
  conversation: number,
  firstId: number,
  events: readonly EventText[],
): Steps<void> {
  if (firstId + events.length > eventIdsMax || conversation >= conversationsMax)
    throw new Error('the log is full: it has reached the highest event id');
  let done = 0;
  for (const { size, insert } of batches[q.kind]) {
    for (; events.length - done >= size; done += size) {
      const batch: Batch = { conversation };
      for (const [i, event] of events.slice(done, done + size).entries()) {
        const id = firstId + done + i;
        batch[`id${i}`] = id;
        batch[`json${i}`] = numbered(event, id, firstId);
      }
      yield* rows(insert(q, batch));
    }
  }
  for (const [i, event] of events.slice(done).entries()) {
    const id = firstId + done + i;
    yield* rows(insertOne(q, { conversation, id, json: numbered(event, id, firstId) }));
  }
}

const deletedAtOnceMax = 10_000;

/** Deletes in statements of bounded size, because a long log would exceed the statement timeout. */
export function* deleteEvents(q: Queries, conversation: number, nextEvent: number): Steps<void> {
  for (let below = nextEvent; below > 0; below -= deletedAtOnceMax)
    yield* rows(
      q.build
        .deleteFrom('events')
        .where('place', '>=', eventKeyOf(conversation, boundId(below - deletedAtOnceMax)))
        .where('place', '<', eventKeyOf(conversation, below)),
    );
}

const selectLog = prepared((q: Queries, { userId, id }: ConversationName) =>
  q.build
    .selectFrom('conversations')
    .select(['key', 'next_event', 'title'])
    .where('user_id', '=', userId)
    .where('id', '=', id),
);

/** Returns the number of the log, the next id and the title; undefined if the user has no such conversation. */
export const findLog = read('events.findLog', function* (q, name: ConversationName) {
  return yield* one(selectLog(q, name));
});

/** Somebody follows a conversation if that was recorded within this time; it is recorded more often. */
export const followedMs = 35_000;

/** Records that these conversations are being followed. */
export const recordFollowed = repeatableWrite(
  'events.recordFollowed',
  function* (q, conversations: readonly number[]): Steps<void> {
    const found = q.build
      .selectFrom('conversations')
      .select('key')
      .where('key', 'in', [...conversations]);
    yield* rows(
      q.build
        .updateTable('conversations')
        .set({ followed_at: q.now })
        // A row that is being changed is left out: it is active anyway, and waiting for it could cause a deadlock.
        .where('key', 'in', q.kind === 'postgres' ? found.forUpdate().skipLocked() : found),
    );
  },
);

/** Returns the number and the next id of each log that still exists. */
export const findEnds = read('events.findEnds', function* (q, conversations: readonly number[]) {
  return yield* rows(
    q.build
      .selectFrom('conversations')
      .select(['key', 'next_event'])
      .where('key', 'in', [...conversations]),
  );
});

/** Determines from the lengths of the events how many fit, so that no event is read in vain. */
function selectPiece(order: 'asc' | 'desc') {
  return prepared((q: Queries, piece: Piece) => {
    const from = eventKeyOf(piece.conversation, piece.from);
    const below = eventKeyOf(piece.conversation, piece.below);
    // This condition comes last, because SQLite uses the first bounds for its search.
    const own = isKeyOf(piece.conversation);
    const log = q.build.selectFrom('events').orderBy('place', order);
    const few = log
      .select(['place', sql<number>`octet_length(json)`.as('bytes')])
      .where('place', '>=', from)
      .where('place', '<', below)
      .where(own)
      .limit(piece.max)
      .as('few');
    const before = sql<number>`sum(bytes) over (order by place ${sql.raw(order)}) - bytes`;
    const counted = q.build
      .selectFrom(few)
      .select(['place', before.as('before')])
      .as('counted');
    const last = q.build
      .selectFrom(counted)
      .select((e) => (order === 'asc' ? e.fn.max('place') : e.fn.min('place')).as('place'))
      .where('before', '<', piece.bytesMax);
    const found = log.select([idOfKey.as('id'), 'json']);
    const fitting =
      order === 'asc'
        ? found.where('place', '>=', from).where('place', '<=', last)
        : found.where('place', '>=', last).where('place', '<', below);
    return fitting.where(own);
  });
}

const selectOldest = selectPiece('asc');
const selectNewest = selectPiece('desc');

/** Reads a part of a log within another transaction; see `readEvents`. */
export function* pieceOfLog(q: Queries, piece: Piece): Steps<StoredEvent[]> {
  const bounded = { ...piece, from: boundId(piece.from), below: boundId(piece.below) };
  return yield* rows((piece.newestFirst ? selectNewest : selectOldest)(q, bounded));
}

/** Reads a part of a log, limited in events and bytes. It returns at least one event if there is one. */
export const readEvents = read('events.read', pieceOfLog);

export const eventTransactions = [findLog, recordFollowed, findEnds, readEvents];

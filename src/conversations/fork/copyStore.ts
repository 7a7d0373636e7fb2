// Copies the log of a conversation in transactions of bounded size, under a reserved number. Nobody sees the copy before
// the row of the fork is inserted.
import { type RawBuilder, sql } from 'kysely';
import { one, type Queries, read, repeatableWrite, rows, type Steps, write } from '../../db/transaction.ts';
import { eventKeyOf } from '../../events/eventKey.ts';
import type { ConversationName } from '../id.ts';

/** Reserves a number for the events of a fork. */
export const beginFork = write('forks.begin', function* (q, { userId, id }: ConversationName): Steps<number> {
  // A deleted row leaves its number, which no other conversation gets.
  const reserved = yield* one(
    q.build
      .insertInto('conversations')
      .values({
        user_id: userId,
        id,
        fingerprint: '',
        status: 'STOPPED',
        title: '',
        trigger: '',
        request: '{}',
        next_event: 0,
        created_at: q.now,
        updated_at: q.now,
      })
      .returning('key'),
  );
  const key = reserved?.key ?? 0;
  yield* rows(q.build.deleteFrom('conversations').where('key', '=', key));
  yield* rows(
    q.build.insertInto('imports').values({
      user_id: userId,
      conversation_id: id,
      conversation_key: key,
      next_event: 0,
      forked_at: q.now,
    }),
  );
  return key;
});

interface Batch {
  readonly key: number;
  readonly sourceKey: number;
  /** The first event of the batch. */
  readonly from: number;
  /** The event after the last one that is copied at all. */
  readonly below: number;
  readonly eventsMax: number;
  readonly bytesMax: number;
}

/** The event after the last one that fits; at least one does. */
function* endOfBatch(q: Queries, { sourceKey, from, below, eventsMax, bytesMax }: Batch): Steps<number> {
  const query = sql<{ count: number }>`
    select count(*) as count from (
      select sum(bytes) over (order by place) - bytes as before from (
        select place, octet_length(json) as bytes from events
        where place >= ${eventKeyOf(sourceKey, from)} and place < ${eventKeyOf(sourceKey, below)}
        order by place limit ${eventsMax}) as few) as counted
    where before < ${bytesMax}`;
  const found = yield* one({ compile: () => query.compile(q.build) });
  return from + Number(found?.count ?? 0);
}

function between(key: number, from: number, below: number): RawBuilder<boolean> {
  return sql<boolean>`place >= ${eventKeyOf(key, from)} and place < ${eventKeyOf(key, below)}`;
}

/**
 * Copies the next events as they are. Returns the event after the last one; `gone` if the source has been deleted, and
 * `discarded` if the copy counts as abandoned.
 */
export const copyEvents = repeatableWrite('forks.copy', function* (q, batch: Batch): Steps<
  number | 'gone' | 'discarded'
> {
  const { key, sourceKey, from, below } = batch;
  const stored = yield* one(
    q.build
      .updateTable('imports')
      .set({ forked_at: q.now })
      .where('conversation_key', '=', key)
      .where('forked_at', 'is not', null)
      .returning('next_event'),
  );
  if (stored === undefined || stored.next_event < from) return 'discarded';
  // This batch was stored before its answer was lost.
  if (stored.next_event > from) return stored.next_event;
  const end = yield* endOfBatch(q, batch);
  if (end === from && from < below) return 'gone';
  const moved = sql<number>`place - ${eventKeyOf(sourceKey, 0)} + ${eventKeyOf(key, 0)}`;
  const own = sql`select ${moved}, json from events where ${between(sourceKey, from, end)}`;
  const insert = sql`insert into events (place, json) ${own}`;
  yield* rows({ compile: () => insert.compile(q.build) });
  // A deletion may have been committed between two statements.
  const counted = yield* one(
    q.build
      .selectFrom('events')
      .select((e) => e.fn.countAll().as('count'))
      .where(between(key, from, end)),
  );
  const next = from + Number(counted?.count ?? 0);
  yield* rows(q.build.updateTable('imports').set({ next_event: next }).where('conversation_key', '=', key));
  return next === end ? end : 'gone';
});

interface Discard {
  readonly key: number;
  /** How many events to delete at most. */
  readonly max: number;
}

/** Deletes events of a copy, newest first. Returns false once there are none. */
export const discardCopy = repeatableWrite(
  'forks.discard',
  function* (q, { key, max }: Discard): Steps<boolean> {
    const own = q.build
      .selectFrom('imports')
      .select('next_event as next')
      .where('conversation_key', '=', key);
    const copy = yield* one(own.where('forked_at', 'is not', null));
    if (copy === undefined) return false;
    const from = Math.max(copy.next - max, 0);
    const moved = yield* one(
      q.build
        .updateTable('imports')
        .set({ next_event: from })
        .where('conversation_key', '=', key)
        .where('next_event', '=', copy.next)
        .returning('next_event'),
    );
    if (moved === undefined) return true;
    yield* rows(q.build.deleteFrom('events').where(between(key, from, copy.next)));
    if (from > 0) return true;
    yield* rows(q.build.deleteFrom('imports').where('conversation_key', '=', key));
    return false;
  },
);

/** Copies that nobody has continued for so long, because their process has ended. */
export const listAbandoned = read(
  'forks.listAbandoned',
  function* (
    q,
    { abandonedMs, max }: { readonly abandonedMs: number; readonly max: number },
  ): Steps<number[]> {
    const found = yield* rows(
      q.build
        .selectFrom('imports')
        .select('conversation_key as key')
        .where('forked_at', '<', sql<number>`${q.now} - ${abandonedMs}`)
        .limit(max),
    );
    return found.map(({ key }) => key);
  },
);

export const copyTransactions = [beginFork, copyEvents, discardCopy, listAbandoned];

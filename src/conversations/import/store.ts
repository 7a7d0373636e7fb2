// Stores conversations of another server. A short one is a single transaction. The events of a long one are stored in
// several, under a reserved key, and appear all at once when the row is inserted: nobody sees a part of a log.
import { one, type Queries, read, repeatableWrite, rows, type Steps, write } from '../../db/transaction.ts';
import { changeText } from '../../events/changes/shape.ts';
import { recordChange } from '../../events/changes/store.ts';
import { eventKeyOf } from '../../events/eventKey.ts';
import { type EventText, insertEvents } from '../../events/store.ts';
import type { NewConversation } from '../create/newConversation.ts';
import type { ConversationName } from '../id.ts';
import type { Moment } from '../row.ts';
import { type ConversationStatus, stopReason } from '../states.ts';
import type { UsageColumns } from '../usage/shape.ts';

/** An imported conversation, without its log. */
export interface ImportedRow
  extends ConversationName,
    UsageColumns,
    Pick<
      NewConversation,
      'fingerprint' | 'title' | 'trigger' | 'repository' | 'branch' | 'gitProvider' | 'request'
    > {
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

const reason = stopReason('imported');

function rowOf(c: ImportedRow, count: number) {
  return {
    user_id: c.userId,
    id: c.id,
    fingerprint: c.fingerprint,
    status: 'STOPPED' satisfies ConversationStatus,
    stop_code: reason.code,
    stop_sentence: reason.message,
    title: c.title,
    trigger: c.trigger,
    repository: c.repository,
    branch: c.branch,
    git_provider: c.gitProvider,
    request: c.request,
    sealed: null,
    next_event: count,
    // The agent of the other server has answered these messages.
    said: count,
    heard: count,
    seen: count,
    created_at: c.createdAtMs,
    updated_at: c.updatedAtMs,
    model_requests: c.model_requests,
    input_tokens: c.input_tokens,
    output_tokens: c.output_tokens,
    cache_read_tokens: c.cache_read_tokens,
    cache_write_tokens: c.cache_write_tokens,
    cost_nanos: c.cost_nanos,
  };
}

function* insertRow(
  q: Queries,
  values: ReturnType<typeof rowOf> & { key?: number },
): Steps<number | undefined> {
  const inserted = yield* one(
    q.build
      .insertInto('conversations')
      .values(values)
      .onConflict((conflict) => conflict.columns(['user_id', 'id']).doNothing())
      .returning('key'),
  );
  return inserted?.key;
}

/** Subscribers learn of it. Webhooks do not, because nothing of it happened now. */
function* recordImport(q: Queries, c: ImportedRow & Moment): Steps<void> {
  const change = {
    conversation_id: c.id,
    status: 'STOPPED',
    agent_state: null,
    stop_reason: reason,
    pinned: false,
    archived: false,
    unread: false,
  } as const;
  yield* recordChange(q, c.userId, changeText({ ...change, title: c.title, at: c.at }));
}

/** Returns the fingerprint of the conversation with this id, if the user has one. */
export const findFingerprint = read('imports.find', function* (q, { userId, id }: ConversationName): Steps<
  string | undefined
> {
  const found = yield* one(
    q.build
      .selectFrom('conversations')
      .select('fingerprint')
      .where('user_id', '=', userId)
      .where('id', '=', id),
  );
  return found?.fingerprint;
});

interface WholeConversation extends ImportedRow, Moment {
  readonly events: readonly EventText[];
}

/** Returns false if the id is taken, also by this import. */
export const storeImported = repeatableWrite(
  'imports.store',
  function* (q, c: WholeConversation): Steps<boolean> {
    const key = yield* insertRow(q, rowOf(c, c.events.length));
    if (key === undefined) return false;
    yield* insertEvents(q, key, 0, c.events);
    yield* recordImport(q, c);
    return true;
  },
);

/**
 * Reserves a key for the events of a conversation. Returns undefined if the id is taken, or if another import is
 * storing the conversation.
 */
export const beginImport = write('imports.begin', function* (q, c: ImportedRow): Steps<number | undefined> {
  // A deleted row leaves its key, which no other conversation gets.
  const key = yield* insertRow(q, rowOf(c, 0));
  if (key === undefined) return undefined;
  yield* rows(q.build.deleteFrom('conversations').where('key', '=', key));
  const begun = yield* one(
    q.build
      .insertInto('imports')
      .values({ user_id: c.userId, conversation_id: c.id, conversation_key: key, next_event: 0 })
      .onConflict((conflict) => conflict.columns(['user_id', 'conversation_id']).doNothing())
      .returning('conversation_key'),
  );
  return begun?.conversation_key;
});

interface ImportedEvents {
  readonly key: number;
  readonly firstId: number;
  readonly events: readonly EventText[];
}

/** Returns false if the import has been discarded. */
export const appendImported = repeatableWrite(
  'imports.append',
  function* (q, { key, firstId, events }: ImportedEvents): Steps<boolean> {
    const next = firstId + events.length;
    const own = q.build.updateTable('imports').where('conversation_key', '=', key);
    const moved = yield* one(
      own.set({ next_event: next }).where('next_event', '=', firstId).returning('next_event'),
    );
    if (moved !== undefined) {
      yield* insertEvents(q, key, firstId, events);
      return true;
    }
    const stored = yield* one(
      q.build.selectFrom('imports').select('next_event').where('conversation_key', '=', key),
    );
    return stored?.next_event === next;
  },
);

interface Publication extends ImportedRow, Moment {
  readonly key: number;
  readonly count: number;
}

/** Makes the conversation visible. Returns false if the id is taken now, or the import has been discarded. */
export const publishImported = write('imports.publish', function* (q, c: Publication): Steps<boolean> {
  const begun = yield* one(
    q.build.deleteFrom('imports').where('conversation_key', '=', c.key).returning('conversation_key'),
  );
  if (begun === undefined) return false;
  const key = yield* insertRow(q, { ...rowOf(c, c.count), key: c.key });
  if (key === undefined) {
    // The events are left to `discardImport`.
    yield* rows(
      q.build.insertInto('imports').values({
        user_id: c.userId,
        conversation_id: c.id,
        conversation_key: c.key,
        next_event: c.count,
      }),
    );
    return false;
  }
  yield* recordImport(q, c);
  return true;
});

interface Discard {
  readonly userId: number;
  /** How many events to delete at most. */
  readonly max: number;
}

/** Deletes events of an unfinished import of this user, newest first. Returns false once there is none. */
export const discardImport = repeatableWrite(
  'imports.discard',
  function* (q, { userId, max }: Discard): Steps<boolean> {
    const begun = yield* one(
      q.build
        .selectFrom('imports')
        .select(['conversation_key as key', 'next_event as next'])
        .where('user_id', '=', userId)
        .where('forked_at', 'is', null)
        .limit(1),
    );
    if (begun === undefined) return false;
    const from = Math.max(begun.next - max, 0);
    const own = yield* one(
      q.build
        .updateTable('imports')
        .set({ next_event: from })
        .where('conversation_key', '=', begun.key)
        .where('next_event', '=', begun.next)
        .returning('next_event'),
    );
    if (own === undefined) return true;
    yield* rows(
      q.build
        .deleteFrom('events')
        .where('place', '>=', eventKeyOf(begun.key, from))
        .where('place', '<', eventKeyOf(begun.key, begun.next)),
    );
    if (from === 0) yield* rows(q.build.deleteFrom('imports').where('conversation_key', '=', begun.key));
    return true;
  },
);

export const importTransactions = [
  findFingerprint,
  storeImported,
  beginImport,
  appendImported,
  publishImported,
  discardImport,
];

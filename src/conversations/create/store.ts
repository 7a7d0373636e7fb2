// Creates the rows of conversations. The idempotency key, the conversation, its first events, the change and the
// webhook deliveries are one transaction.
import {
  one,
  prepared,
  type Queries,
  read,
  repeatableWrite,
  rows,
  type Steps,
  sqliteChanges,
} from '../../db/transaction.ts';
import { encryptedWithActiveKey } from '../../encryption/store.ts';
import { recordChange } from '../../events/changes/store.ts';
import { insertEvents } from '../../events/store.ts';
import { recordDeliveries } from '../../webhooks/outboxStore.ts';
import { claimKey, findClaim, type StoredClaim } from '../idempotency/store.ts';
import type { ConversationStatus } from '../states.ts';
import { createSet } from './createSet.ts';
import {
  type CreateOutcome,
  creationChange,
  type FoundOutcome,
  type NewConversation,
} from './newConversation.ts';
import { areTooManyWaiting } from './waiting.ts';

const attemptsMax = 5;

export interface Lookup {
  readonly userId: number;
  readonly fingerprint: string;
  readonly id: string | null;
  readonly keyHash: string | null;
}

const buildInsert = (q: Queries, c: NewConversation & { count: number }) =>
  q.build
    .insertInto('conversations')
    .values({
      user_id: c.userId,
      id: c.id,
      fingerprint: c.fingerprint,
      status: 'STARTING' satisfies ConversationStatus,
      title: c.title,
      trigger: c.trigger,
      repository: c.repository,
      branch: c.branch,
      git_provider: c.gitProvider,
      agent: c.agent,
      llm_model: c.llmModel,
      confirmation_mode: c.confirmationMode,
      client_folder: c.clientFolder,
      request: c.request,
      sealed: c.sealed,
      next_event: c.count,
      said: c.said,
      traceparent: c.traceparent,
      created_at: q.now,
      updated_at: q.now,
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'id']).doNothing());

const insertSilently = prepared(buildInsert);
const insertReturning = prepared((q: Queries, c: NewConversation & { count: number }) =>
  buildInsert(q, c).returning('key'),
);

/** Returns the key, or undefined if the id is taken. */
function* insertConversation(q: Queries, c: NewConversation): Steps<number | undefined> {
  const row = { ...c, count: c.events.length };
  if (q.kind === 'postgres') return (yield* one(insertReturning(q, row)))?.key;
  // On SQLite, RETURNING costs as much as the insertion.
  const { changes, lastInsertRowid } = yield* sqliteChanges(insertSilently(q, row));
  return changes > 0 ? lastInsertRowid : undefined;
}

const selectConversation = prepared((q: Queries, c: { userId: number; id: string }) =>
  q.build
    .selectFrom('conversations')
    .select(['id', 'fingerprint', 'status'])
    .where('user_id', '=', c.userId)
    .where('id', '=', c.id),
);

function* findById(
  q: Queries,
  userId: number,
  id: string,
  fingerprint: string,
): Steps<FoundOutcome | undefined> {
  const found = yield* one(selectConversation(q, { userId, id }));
  if (found === undefined) return undefined;
  if (found.fingerprint !== fingerprint) return { outcome: 'id_taken' };
  return { outcome: 'existing', id: found.id, status: found.status as ConversationStatus };
}

/** What the claim of the same idempotency key has created; undefined if that is gone. */
export function* findClaimed(
  q: Queries,
  { userId, fingerprint }: Pick<NewConversation, 'userId' | 'fingerprint'>,
  claim: StoredClaim,
): Steps<FoundOutcome | undefined> {
  if (claim.fingerprint !== fingerprint) return { outcome: 'key_reused' };
  return yield* findById(q, userId, claim.conversation_id, fingerprint);
}

/** What a creation would find. */
export function* findStored(q: Queries, l: Lookup): Steps<FoundOutcome | undefined> {
  if (l.id !== null) return yield* findById(q, l.userId, l.id, l.fingerprint);
  const claimed = l.keyHash === null ? undefined : yield* findClaim(q, l.userId, l.keyHash);
  return claimed && (yield* findClaimed(q, l, claimed));
}

function insertPatch(q: Queries, key: number, patch: string): Steps<unknown> {
  return rows(q.build.insertInto('workspace_patches').values({ conversation_key: key, patch }));
}

function* recordCreation(q: Queries, c: NewConversation, key: number): Steps<void> {
  const status = creationChange(c);
  yield* recordChange(q, c.userId, status);
  yield* recordDeliveries(q, {
    userId: c.userId,
    conversationKey: key,
    conversationId: c.id,
    status,
    // Replayed events did not happen now, so webhooks do not get them.
    events: { first: c.replayed, count: c.events.length - c.replayed },
  });
}

/**
 * Creates the conversation, or finds the one that the same request created before. The idempotency key comes first,
 * because it makes concurrent retries wait for each other; then the row, its events, and the notifications.
 */
export const createConversation = repeatableWrite(
  'conversations.create',
  function* (q, c: NewConversation): Steps<CreateOutcome> {
    if (c.sealed !== null && !(yield* encryptedWithActiveKey(q, [c.sealed])))
      return { outcome: 'stale_seal' };
    if (yield* areTooManyWaiting(q, c)) {
      const keyHash = c.idempotency?.keyHash ?? null;
      const lookup = { ...c, id: keyHash === null ? c.id : null, keyHash };
      return (yield* findStored(q, lookup)) ?? { outcome: 'too_many_waiting' };
    }
    // A second attempt covers a conversation that is deleted, with its key, between the queries.
    for (let attempt = 0; c.idempotency !== null && attempt < 2; attempt++) {
      const claimed = yield* claimKey(q, { ...c, conversationId: c.id, eventId: null }, c.idempotency);
      if (claimed === undefined) break;
      const found = yield* findClaimed(q, c, claimed);
      if (found !== undefined) return found;
    }
    // Another attempt covers a conversation that is deleted before it is read.
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const key = yield* insertConversation(q, c);
      if (key !== undefined) {
        yield* insertEvents(q, key, 0, c.events);
        if (c.patch !== null) yield* insertPatch(q, key, c.patch);
        yield* recordCreation(q, c, key);
        return { outcome: 'created', key };
      }
      const found = yield* findById(q, c.userId, c.id, c.fingerprint);
      if (found !== undefined) return found;
    }
    throw new Error('a conversation is in the way that cannot be found');
  },
  createSet,
);

/** Finds what a creation would find, without creating anything. */
export const findCreated = read('conversations.findCreated', findStored);

export const conversationTransactions = [createConversation, findCreated];

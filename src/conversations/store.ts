// Rows of conversations. Creation is one transaction: idempotency key, conversation and first events, or nothing.
import { sql } from 'kysely';
import { one, prepared, type Queries, type Query, read, rows, type Steps, write } from '../db/transaction.ts';
import { sealedWithActiveKey } from '../secrets/store.ts';
import type { ConversationStatus } from './schema.ts';

export interface NewConversation {
  readonly userId: number;
  readonly id: string;
  readonly fingerprint: string;
  readonly title: string;
  readonly trigger: string;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly gitProvider: string | null;
  readonly request: string;
  readonly sealed: string | null;
  readonly events: readonly string[];
  readonly idempotency: IdempotencyClaim | null;
}

export interface IdempotencyClaim {
  readonly keyHash: string;
  readonly ttlMs: number;
}

export type CreateOutcome =
  | { readonly outcome: 'created' }
  | { readonly outcome: 'existing'; readonly id: string; readonly status: ConversationStatus }
  | { readonly outcome: 'id_taken' }
  | { readonly outcome: 'key_reused' }
  /** The sealing key was rotated meanwhile: nothing is stored; seal anew and repeat. */
  | { readonly outcome: 'stale_seal' };

export interface Lookup {
  readonly userId: number;
  readonly fingerprint: string;
  readonly id: string | null;
  readonly keyHash: string | null;
}

const batchSizes = [100, 2, 1] as const;

const insertConversation = prepared((q: Queries, c: NewConversation & { count: number }) =>
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
      request: c.request,
      sealed: c.sealed,
      next_event: c.count,
      created_at: q.now,
      updated_at: q.now,
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'id']).doNothing())
    .returning('key'),
);

const selectConversation = prepared((q: Queries, c: { userId: number; id: string }) =>
  q.build
    .selectFrom('conversations')
    .select(['id', 'fingerprint', 'status'])
    .where('user_id', '=', c.userId)
    .where('id', '=', c.id),
);

type Batch = Record<string, number | string>;

function insertBatch(size: number): (q: Queries, batch: Batch) => Query<unknown> {
  const place = Array.from({ length: size }, (_, i) => i);
  return prepared((q: Queries, batch: Batch) =>
    q.build.insertInto('events').values(
      place.map((i) => ({
        conversation_key: batch['conversation'] as number,
        id: batch[`id${i}`] as number,
        json: batch[`json${i}`] as string,
      })),
    ),
  );
}

const batches = batchSizes.map((size) => ({ size, insert: insertBatch(size) }));

function* insertEvents(
  q: Queries,
  conversation: number,
  firstId: number,
  events: readonly string[],
): Steps<void> {
  let done = 0;
  for (const { size, insert } of batches) {
    for (; events.length - done >= size; done += size) {
      const batch: Batch = { conversation };
      for (let i = 0; i < size; i++) {
        batch[`id${i}`] = firstId + done + i;
        batch[`json${i}`] = events[done + i] as string;
      }
      yield* rows(insert(q, batch));
    }
  }
}

function* findById(
  q: Queries,
  userId: number,
  id: string,
  fingerprint: string,
): Steps<CreateOutcome | undefined> {
  const found = yield* one(selectConversation(q, { userId, id }));
  if (found === undefined) return undefined;
  if (found.fingerprint !== fingerprint) return { outcome: 'id_taken' };
  return { outcome: 'existing', id: found.id, status: found.status as ConversationStatus };
}

function* findByKey(
  q: Queries,
  userId: number,
  keyHash: string,
  fingerprint: string,
): Steps<CreateOutcome | undefined> {
  const held = yield* one(
    q.build
      .selectFrom('idempotency')
      .select(['conversation_id', 'fingerprint'])
      .where('user_id', '=', userId)
      .where('key_hash', '=', keyHash)
      .where('expires_at', '>', q.now),
  );
  if (held === undefined) return undefined;
  if (held.fingerprint !== fingerprint) return { outcome: 'key_reused' };
  return yield* findById(q, userId, held.conversation_id, fingerprint);
}

/** Takes the key for this conversation. Undefined where another one holds it: the row is then locked or final. */
function claimKey(q: Queries, c: NewConversation, claim: IdempotencyClaim) {
  const expires = sql<number>`${q.now} + ${sql.lit(claim.ttlMs)}`;
  const taken = { fingerprint: c.fingerprint, conversation_id: c.id, expires_at: expires };
  return q.build
    .insertInto('idempotency')
    .values({ user_id: c.userId, key_hash: claim.keyHash, ...taken })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'key_hash'])
        .doUpdateSet(taken)
        .where('idempotency.expires_at', '<=', q.now),
    )
    .returning('conversation_id');
}

/**
 * Creates the conversation, or finds the one that the same request made before. In this order: the idempotency
 * key, which also makes concurrent repeats wait for each other, the row, its events.
 */
export const createConversation = write(
  'conversations.create',
  function* (q, c: NewConversation): Steps<CreateOutcome> {
    if (c.sealed !== null && !(yield* sealedWithActiveKey(q, [c.sealed]))) return { outcome: 'stale_seal' };
    // Twice, for a key whose time ends between the two looks.
    for (let look = 0; c.idempotency !== null && look < 2; look++) {
      if ((yield* one(claimKey(q, c, c.idempotency))) !== undefined) break;
      const found = yield* findByKey(q, c.userId, c.idempotency.keyHash, c.fingerprint);
      if (found !== undefined) return found;
    }
    const made = yield* one(insertConversation(q, { ...c, count: c.events.length }));
    if (made === undefined) {
      const found = yield* findById(q, c.userId, c.id, c.fingerprint);
      if (found === undefined) throw new Error('a conversation is in the way that cannot be found');
      return found;
    }
    yield* insertEvents(q, made.key, 0, c.events);
    return { outcome: 'created' };
  },
);

/** What creation would find, without creating. */
export const findCreated = read('conversations.findCreated', function* (q, l: Lookup): Steps<
  CreateOutcome | undefined
> {
  if (l.id !== null) return yield* findById(q, l.userId, l.id, l.fingerprint);
  return l.keyHash === null ? undefined : yield* findByKey(q, l.userId, l.keyHash, l.fingerprint);
});

/** Forgets idempotency keys whose time is over, a bounded number at a time. Returns how many. */
export const purgeIdempotency = write(
  'conversations.purgeIdempotency',
  function* (q, max: number): Steps<number> {
    const purged = yield* rows(
      q.build
        .deleteFrom('idempotency')
        .where((e) =>
          e(
            e.refTuple('user_id', 'key_hash'),
            'in',
            e
              .selectFrom('idempotency')
              .select(['user_id', 'key_hash'])
              .where('expires_at', '<=', q.now)
              .orderBy('expires_at')
              .limit(max)
              .$asTuple('user_id', 'key_hash'),
          ),
        )
        .returning('key_hash'),
    );
    return purged.length;
  },
);

export const conversationTransactions = [createConversation, findCreated, purgeIdempotency];

// Stores which request an idempotency key was used for, and what came of it. The key is claimed in the transaction of
// the request, so that concurrent retries wait for each other.
import { sql } from 'kysely';
import { one, type Queries, repeatableWrite, rows, type Steps } from '../../db/transaction.ts';

export interface IdempotencyClaim {
  readonly keyHash: string;
  readonly ttlMs: number;
}

/** What a key is claimed for. */
interface ClaimedRequest {
  readonly userId: number;
  readonly fingerprint: string;
  readonly conversationId: string;
  /** The event of a message; null for a creation. */
  readonly eventId: number | null;
}

export interface StoredClaim {
  readonly conversation_id: string;
  readonly fingerprint: string;
  readonly event_id: number | null;
}

export function* findClaim(q: Queries, userId: number, keyHash: string): Steps<StoredClaim | undefined> {
  return yield* one(
    q.build
      .selectFrom('idempotency')
      .select(['conversation_id', 'fingerprint', 'event_id'])
      .where('user_id', '=', userId)
      .where('key_hash', '=', keyHash)
      .where('expires_at', '>', q.now),
  );
}

/** Returns undefined if another request has the key. Its row is then locked or final. */
function claim(q: Queries, c: ClaimedRequest, { keyHash, ttlMs }: IdempotencyClaim) {
  const taken = {
    fingerprint: c.fingerprint,
    conversation_id: c.conversationId,
    event_id: c.eventId,
    expires_at: sql<number>`${q.now} + ${sql.lit(ttlMs)}`,
  };
  return q.build
    .insertInto('idempotency')
    .values({ user_id: c.userId, key_hash: keyHash, ...taken })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'key_hash'])
        .doUpdateSet(taken)
        .where('idempotency.expires_at', '<=', q.now),
    )
    .returning('conversation_id');
}

/** Claims the key. Returns the earlier claim if there is one. */
export function* claimKey(
  q: Queries,
  request: ClaimedRequest,
  wanted: IdempotencyClaim,
): Steps<StoredClaim | undefined> {
  // A second attempt covers a key that expires between the two queries.
  for (let attempt = 0; attempt < 2; attempt++) {
    if ((yield* one(claim(q, request, wanted))) !== undefined) return undefined;
    const found = yield* findClaim(q, request.userId, wanted.keyHash);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Forgets a claim of this transaction whose request was refused. */
export function* releaseKey(q: Queries, userId: number, keyHash: string): Steps<void> {
  yield* rows(
    q.build.deleteFrom('idempotency').where('user_id', '=', userId).where('key_hash', '=', keyHash),
  );
}

/** Deletes expired idempotency keys, a limited number at a time. Returns how many. */
export const purgeIdempotency = repeatableWrite(
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

export const idempotencyTransactions = [purgeIdempotency];

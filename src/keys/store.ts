// Rows of credentials. They hold hashes; the secret itself is never stored.
import { one, prepared, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import { ensureUserSteps } from '../users/store.ts';
import { type KeyKind, keysPerUserMax } from './schema.ts';

export interface KeyRow {
  readonly id: string;
  readonly user_id: number;
  readonly user: string;
  readonly kind: string;
  readonly name: string;
  readonly hash: string;
  readonly scopes: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
}

export interface NewKeyRow {
  readonly id: string;
  readonly userName: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hash: string;
  readonly scopes: string;
  readonly expiresAt: number | null;
}

function selectKeys(q: Queries) {
  return q.build
    .selectFrom('keys')
    .innerJoin('users', 'users.id', 'keys.user_id')
    .select([
      'keys.id',
      'keys.user_id',
      'users.name as user',
      'keys.kind',
      'keys.name',
      'keys.hash',
      'keys.scopes',
      'keys.created_at',
      'keys.expires_at',
      'keys.last_used_at',
      'keys.revoked_at',
    ]);
}

const selectKey = prepared((q: Queries, input: { id: string }) =>
  selectKeys(q).where('keys.id', '=', input.id),
);

export const findKey = read('keys.find', function* (q, id: string): Steps<KeyRow | undefined> {
  return yield* one(selectKey(q, { id }));
});

export const listKeys = read('keys.list', function* (q, input: { userId?: number }): Steps<KeyRow[]> {
  const query = selectKeys(q).orderBy('keys.created_at').orderBy('keys.id');
  return yield* rows(input.userId === undefined ? query : query.where('keys.user_id', '=', input.userId));
});

/** Stores the key for the user, made where new. Undefined: that user holds too many active keys. */
export const createKey = write('keys.create', function* (q, key: NewKeyRow): Steps<KeyRow | undefined> {
  const user = yield* ensureUserSteps(q, key.userName);
  const active = yield* one(
    q.build
      .selectFrom('keys')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('user_id', '=', user.id)
      .where('revoked_at', 'is', null),
  );
  if (Number(active?.count) >= keysPerUserMax) return undefined;
  yield* rows(insertKey(q, user.id, key));
  return yield* one(selectKey(q, { id: key.id }));
});

function insertKey(q: Queries, userId: number, key: NewKeyRow) {
  return q.build.insertInto('keys').values({
    id: key.id,
    user_id: userId,
    kind: key.kind,
    name: key.name,
    hash: key.hash,
    scopes: key.scopes,
    created_at: q.now,
    expires_at: key.expiresAt,
    last_used_at: null,
    revoked_at: null,
  });
}

function usableSessionKey(q: Queries) {
  return q.build
    .selectFrom('keys')
    .select('id')
    .where('kind', '=', 'session')
    .where('revoked_at', 'is', null)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', q.now)]))
    .limit(1);
}

export const hasUsableSessionKey = read('keys.hasUsableSession', function* (q, _: null): Steps<boolean> {
  return (yield* one(usableSessionKey(q))) !== undefined;
});

/** Stores the owner's first session key, unless any session key exists that can still be used. */
export const createFirstKey = write('keys.createFirst', function* (q, key: NewKeyRow): Steps<boolean> {
  const user = yield* ensureUserSteps(q, key.userName);
  // Locks the owner's row, so that two processes that start together make one key.
  yield* rows(q.build.updateTable('users').set({ name: key.userName }).where('id', '=', user.id));
  if ((yield* one(usableSessionKey(q))) !== undefined) return false;
  yield* rows(insertKey(q, user.id, key));
  return true;
});

/** Revokes the key; a second time changes nothing. Undefined: no such key, or not that user's. */
export const revokeKey = write('keys.revoke', function* (q, input: { id: string; userId?: number }): Steps<
  KeyRow | undefined
> {
  let query = q.build
    .updateTable('keys')
    .set((e) => ({ revoked_at: e.fn.coalesce('revoked_at', q.now) }))
    .where('id', '=', input.id);
  if (input.userId !== undefined) query = query.where('user_id', '=', input.userId);
  const revoked = yield* one(query.returning('id'));
  return revoked && (yield* one(selectKey(q, { id: revoked.id })));
});

/** Records when keys were last used, many at once. */
export const recordUses = write(
  'keys.recordUses',
  function* (q, uses: readonly { id: string; at: number }[]) {
    for (const { id, at } of uses)
      yield* rows(q.build.updateTable('keys').set({ last_used_at: at }).where('id', '=', id));
  },
);

export const keyTransactions = [
  findKey,
  listKeys,
  hasUsableSessionKey,
  createKey,
  createFirstKey,
  revokeKey,
  recordUses,
];

// Stores credentials as hashes; the secret itself is never stored.

import { recordAudit } from '../audit/store.ts';
import {
  one,
  prepared,
  type Queries,
  read,
  repeatableWrite,
  rows,
  type Steps,
  write,
} from '../db/transaction.ts';
import { ensureUserSteps, isActive, type User, whereActive } from '../users/store.ts';
import type { KeyKind } from './schema.ts';

/** How many active keys one user may have. */
const keysPerUserMax = 1_000;
const keysListedMax = 2_000;
const auditUseEveryMs = 24 * 60 * 60 * 1_000;

export interface KeyRow {
  readonly id: string;
  readonly user_id: number;
  readonly user: string;
  readonly kind: string;
  readonly name: string;
  readonly hash: string;
  readonly scopes: string;
  readonly bearer: number;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
  readonly revoked_at: number | null;
  /** If one of them is set, no key of the user is valid. */
  readonly disabled_at: number | null;
  readonly removed_at: number | null;
}

/** A user is created if none has the name. An id is better if it is known, because names change. */
export type KeyOwner = { readonly id: number } | { readonly name: string };

export interface NewKeyRow {
  readonly id: string;
  readonly owner: KeyOwner;
  readonly kind: KeyKind;
  readonly name: string;
  readonly hash: string;
  readonly scopes: string;
  readonly bearer: boolean;
  readonly expiresAt: number | null;
  /** The id of the creating key, for the audit log. */
  readonly by: string;
}

function subjectOf({ id, name }: { id: string; name: string }): string {
  return `${id} ${name}`;
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
      'keys.bearer',
      'keys.created_at',
      'keys.expires_at',
      'keys.last_used_at',
      'keys.revoked_at',
      'users.disabled_at',
      'users.removed_at',
    ]);
}

const selectKey = prepared((q: Queries, input: { id: string }) =>
  selectKeys(q).where('keys.id', '=', input.id),
);

export const findKey = read('keys.find', function* (q, id: string): Steps<KeyRow | undefined> {
  return yield* one(selectKey(q, { id }));
});

const selectConversation = prepared((q: Queries, input: { userId: number; id: string }) =>
  q.build
    .selectFrom('conversations')
    .select('key')
    .where('user_id', '=', input.userId)
    .where('id', '=', input.id),
);

/** The internal key of a conversation, which a new conversation with the same id does not have. */
export const findConversationKey = read(
  'keys.findConversation',
  function* (q, input: { userId: number; id: string }): Steps<number | undefined> {
    return (yield* one(selectConversation(q, input)))?.key;
  },
);

/** The newest keys, oldest first; revoked ones stay in the list. */
export const listKeys = read('keys.list', function* (q, input: { userId?: number }): Steps<KeyRow[]> {
  const query = selectKeys(q).orderBy('keys.created_at', 'desc').orderBy('keys.id').limit(keysListedMax);
  const mine = input.userId === undefined ? query : query.where('keys.user_id', '=', input.userId);
  return (yield* rows(mine)).reverse();
});

/** Locks the keys of this user until the transaction ends. Undefined if there is no such user. */
function* lockOwner(q: Queries, owner: KeyOwner): Steps<User | undefined> {
  const { id } = 'id' in owner ? owner : yield* ensureUserSteps(q, owner.name);
  return yield* one(
    q.build
      .updateTable('users')
      .set((e) => ({ name: e.ref('name') }))
      .where('id', '=', id)
      .returningAll(),
  );
}

/** Stores the key, and creates its user if necessary. */
export const createKey = write('keys.create', function* (q, key: NewKeyRow): Steps<
  KeyRow | 'too_many' | 'inactive_user'
> {
  const user = yield* lockOwner(q, key.owner);
  if (user === undefined || !isActive(user)) return 'inactive_user';
  const active = yield* one(
    q.build
      .selectFrom('keys')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('user_id', '=', user.id)
      .where('revoked_at', 'is', null)
      .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', q.now)])),
  );
  if (Number(active?.count) >= keysPerUserMax) return 'too_many';
  yield* rows(insertKey(q, user.id, key));
  yield* recordAudit(q, [{ userId: user.id, keyId: key.by, action: 'key.create', subject: subjectOf(key) }]);
  return (yield* one(selectKey(q, { id: key.id }))) as KeyRow;
});

function insertKey(q: Queries, userId: number, key: NewKeyRow) {
  return q.build.insertInto('keys').values({
    id: key.id,
    user_id: userId,
    kind: key.kind,
    name: key.name,
    hash: key.hash,
    scopes: key.scopes,
    bearer: Number(key.bearer),
    created_at: q.now,
    expires_at: key.expiresAt,
    last_used_at: null,
    revoked_at: null,
  });
}

function usableSessionKey(q: Queries) {
  return q.build
    .selectFrom('keys')
    .innerJoin('users', 'users.id', 'keys.user_id')
    .select('keys.id')
    .where(whereActive)
    .where('kind', '=', 'session')
    .where('revoked_at', 'is', null)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', q.now)]))
    .limit(1);
}

export const hasUsableSessionKey = read('keys.hasUsableSession', function* (q, _: null): Steps<boolean> {
  return (yield* one(usableSessionKey(q))) !== undefined;
});

/** Stores the owner's first API key, unless there is a valid API key already. */
export const createFirstKey = write('keys.createFirst', function* (q, key: NewKeyRow): Steps<boolean> {
  // Two processes that start at once create only one key.
  const user = yield* lockOwner(q, key.owner);
  if (user === undefined || (yield* one(usableSessionKey(q))) !== undefined) return false;
  yield* rows(insertKey(q, user.id, key));
  yield* recordAudit(q, [{ userId: user.id, keyId: key.by, action: 'key.create', subject: subjectOf(key) }]);
  return true;
});

export interface Revocation {
  readonly id: string;
  /** The owner of the key; any user if absent. */
  readonly userId?: number;
  readonly by: string;
}

/** Revokes the key; repeating it changes nothing. Returns undefined if the user has no such key. */
export const revokeKey = repeatableWrite('keys.revoke', function* (q, input: Revocation): Steps<
  KeyRow | undefined
> {
  const before = yield* one(selectKey(q, { id: input.id }));
  if (before === undefined || before.user_id !== (input.userId ?? before.user_id)) return undefined;
  const revoked = yield* one(
    q.build
      .updateTable('keys')
      .set({ revoked_at: q.now })
      .where('id', '=', input.id)
      .where('revoked_at', 'is', null)
      .returning('id'),
  );
  if (revoked !== undefined)
    yield* recordAudit(q, [
      { userId: before.user_id, keyId: input.by, action: 'key.revoke', subject: subjectOf(before) },
    ]);
  return yield* one(selectKey(q, { id: input.id }));
});

export interface KeyUse {
  readonly id: string;
  readonly at: number;
}

const updateUse = prepared((q: Queries, use: KeyUse) =>
  q.build
    .updateTable('keys')
    .set({ last_used_at: use.at })
    .where('id', '=', use.id)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<', use.at)]))
    .returning('id'),
);

/** Records the last use of many keys; the audit log gets one entry per key and day. */
export const recordUses = repeatableWrite(
  'keys.recordUses',
  function* (q, uses: readonly KeyUse[]): Steps<void> {
    // Rows are locked in the same order everywhere, so that two processes cannot deadlock.
    for (const { id, at } of uses.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const before = yield* one(selectKey(q, { id }));
      if (before === undefined || at <= (before.last_used_at ?? 0)) continue;
      if ((yield* one(updateUse(q, { id, at }))) === undefined) continue;
      if (at - (before.last_used_at ?? 0) >= auditUseEveryMs)
        yield* recordAudit(q, [
          { userId: before.user_id, keyId: id, action: 'key.use', subject: subjectOf(before) },
        ]);
    }
  },
);

export const keyTransactions = [
  findKey,
  findConversationKey,
  listKeys,
  hasUsableSessionKey,
  createKey,
  createFirstKey,
  revokeKey,
  recordUses,
];

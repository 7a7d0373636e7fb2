// Finds or creates the user of an account at the provider, and stores their session, in one transaction.
import { recordAudit } from '../audit/store.ts';
import { one, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import { type Scope, sessionScopes } from '../keys/schema.ts';
import { endSessionSteps } from '../keys/sessionStore.ts';
import { isReservedName, ownerName } from '../users/owner.ts';
import { isActive, lockAccounts } from '../users/store.ts';

/** How many sessions one user may have; a new one ends the oldest. */
const sessionsPerUserMax = 50;
/** How many accounts at the provider may be linked to one user. */
const identitiesPerUserMax = 20;
const signedInScopes: readonly Scope[] = [...sessionScopes, 'keys:manage'];

interface Account {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string | null;
  readonly email: string | null;
}

export interface NewSession extends Account {
  /** For an identity that is not known yet. */
  readonly identityId: string;
  /** Candidates for the name of a new user; empty if none may be created. */
  readonly userNames: readonly string[];
  readonly isAdmin: boolean;
  /** The hash of the sign-in, which can be used once. */
  readonly signIn: string;
  readonly sessionId: string;
  readonly hash: string;
  readonly browser: string;
  readonly at: number;
  readonly idleMs: number;
  readonly lastsMs: number;
}

export interface CreatedSession {
  readonly userId: number;
  readonly user: string;
  readonly endsAt: number;
}

export type SignInFault = 'used' | 'unknown' | 'inactive';

function* findIdentity(q: Queries, { issuer, subject }: Account) {
  return yield* one(
    q.build
      .selectFrom('identities')
      .select(['id', 'user_id'])
      .where('issuer', '=', issuer)
      .where('subject', '=', subject),
  );
}

interface NewIdentity extends Account {
  readonly identityId: string;
  readonly userId: number;
  readonly by: string;
}

function* insertIdentity(q: Queries, identity: NewIdentity): Steps<void> {
  const { identityId: id, userId, issuer, subject, name, email, by } = identity;
  yield* rows(
    q.build.insertInto('identities').values({
      id,
      user_id: userId,
      issuer,
      subject,
      name,
      email,
      created_at: q.now,
      signed_in_at: null,
    }),
  );
  yield* recordAudit(q, [{ userId, keyId: by, action: 'identity.link', subject }]);
}

/** Creates a user with the first name that is free. */
function* createUser(q: Queries, input: NewSession): Steps<{ id: string; user_id: number } | undefined> {
  for (const name of input.userNames) {
    const user = yield* one(
      q.build
        .insertInto('users')
        .values({ name, created_at: q.now })
        .onConflict((c) => c.column('name').doNothing())
        .returning('id'),
    );
    if (user === undefined) continue;
    const by = input.sessionId;
    yield* recordAudit(q, [{ userId: user.id, keyId: by, action: 'user.create', subject: name }]);
    yield* insertIdentity(q, { ...input, userId: user.id, by });
    return { id: input.identityId, user_id: user.id };
  }
  return undefined;
}

function* findOrCreateIdentity(q: Queries, input: NewSession) {
  const found = yield* findIdentity(q, input);
  if (found !== undefined || input.userNames.length === 0) return found;
  yield* lockAccounts(q);
  return (yield* findIdentity(q, input)) ?? (yield* createUser(q, input));
}

function* endOldest(q: Queries, userId: number, { at, sessionId }: NewSession): Steps<void> {
  const live = q.build
    .selectFrom('sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', at)
    .orderBy('created_at', 'desc')
    .limit(sessionsPerUserMax * 2);
  const surplus = (yield* rows(live)).slice(sessionsPerUserMax - 1);
  for (const { id } of surplus) yield* endSessionSteps(q, { userId, id, by: sessionId });
}

function* insertSession(
  q: Queries,
  input: NewSession,
  { identityId, userId, isAdmin }: { identityId: string; userId: number; isAdmin: boolean },
): Steps<number | undefined> {
  const endsAt = input.at + input.lastsMs;
  const inserted = yield* one(
    q.build
      .insertInto('sessions')
      .values({
        id: input.sessionId,
        user_id: userId,
        identity_id: identityId,
        sign_in: input.signIn,
        hash: input.hash,
        scopes: JSON.stringify(isAdmin ? [...signedInScopes, 'admin'] : signedInScopes),
        browser: input.browser,
        created_at: input.at,
        last_used_at: input.at,
        expires_at: Math.min(endsAt, input.at + input.idleMs),
        ends_at: endsAt,
        ended_at: null,
      })
      .onConflict((c) => c.column('sign_in').doNothing())
      .returning('id'),
  );
  return inserted && endsAt;
}

/** Each sign-in creates one session, even if it is sent twice. */
export const createSession = write('signIn.createSession', function* (q, input: NewSession): Steps<
  CreatedSession | SignInFault
> {
  const used = q.build.selectFrom('sessions').select('id').where('sign_in', '=', input.signIn);
  if ((yield* one(used)) !== undefined) return 'used';
  const identity = yield* findOrCreateIdentity(q, input);
  if (identity === undefined) return 'unknown';
  const { id: identityId, user_id: userId } = identity;
  // Locked, so that a user who is disabled meanwhile has no session afterwards.
  const found = q.build.selectFrom('users').selectAll().where('id', '=', userId);
  const user = yield* one(q.kind === 'postgres' ? found.forNoKeyUpdate() : found);
  if (user === undefined || !isActive(user)) return 'inactive';
  const account = { name: input.name, email: input.email, signed_in_at: q.now };
  const update = q.build.updateTable('identities').set(account).where('id', '=', identityId);
  // The account may have been unlinked meanwhile.
  if ((yield* one(update.returning('id'))) === undefined) return 'unknown';
  yield* endOldest(q, userId, input);
  const isAdmin = input.isAdmin || user.name === ownerName;
  const endsAt = yield* insertSession(q, input, { identityId, userId, isAdmin });
  if (endsAt === undefined) return 'used';
  yield* recordAudit(q, [
    { userId, keyId: input.sessionId, action: 'session.create', subject: input.sessionId },
  ]);
  return { userId, user: user.name, endsAt };
});

export interface IdentityRow extends Account {
  readonly id: string;
  readonly created_at: number;
  readonly signed_in_at: number | null;
}

function selectIdentities(q: Queries, userId: number) {
  return q.build
    .selectFrom('identities')
    .select(['id', 'issuer', 'subject', 'name', 'email', 'created_at', 'signed_in_at'])
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id');
}

/** Of somebody who can sign in: the owner of the default settings cannot. */
function* findUserId(q: Queries, name: string): Steps<number | undefined> {
  if (isReservedName(name)) return undefined;
  const user = q.build.selectFrom('users').select('id').where('name', '=', name);
  return (yield* one(user.where('purging_at', 'is', null)))?.id;
}

/** Undefined if there is no such user. */
export const listIdentities = read('signIn.listIdentities', function* (q, user: string): Steps<
  IdentityRow[] | undefined
> {
  const userId = yield* findUserId(q, user);
  return userId === undefined ? undefined : yield* rows(selectIdentities(q, userId));
});

export interface IdentityLink {
  readonly user: string;
  readonly issuer: string;
  readonly subject: string;
  readonly identityId: string;
  /** The id of the caller's key, for the audit log. */
  readonly by: string;
}

/** Linking an account again to the same user changes nothing. */
export const linkIdentity = write('signIn.linkIdentity', function* (q, input: IdentityLink): Steps<
  IdentityRow | 'missing' | 'taken' | 'too_many'
> {
  yield* lockAccounts(q);
  const userId = yield* findUserId(q, input.user);
  if (userId === undefined) return 'missing';
  const { issuer, subject, identityId, by } = input;
  const account = { issuer, subject, name: null, email: null };
  const known = yield* findIdentity(q, account);
  if (known !== undefined && known.user_id !== userId) return 'taken';
  if (known === undefined) {
    if ((yield* rows(selectIdentities(q, userId))).length >= identitiesPerUserMax) return 'too_many';
    yield* insertIdentity(q, { ...account, identityId, userId, by });
  }
  const linked = selectIdentities(q, userId).where('id', '=', known?.id ?? identityId);
  return (yield* one(linked)) ?? 'missing';
});

interface IdentityUnlink {
  readonly user: string;
  readonly id: string;
  readonly by: string;
}

/** Also ends the sessions of that account. Undefined if the user has no such account. */
export const unlinkIdentity = write('signIn.unlinkIdentity', function* (q, input: IdentityUnlink): Steps<
  IdentityRow | undefined
> {
  const userId = yield* findUserId(q, input.user);
  const found = userId && (yield* one(selectIdentities(q, userId).where('id', '=', input.id)));
  if (!userId || !found) return undefined;
  yield* rows(q.build.deleteFrom('identities').where('id', '=', found.id));
  yield* endSessionSteps(q, { userId, identityId: found.id, by: input.by });
  yield* recordAudit(q, [{ userId, keyId: input.by, action: 'identity.unlink', subject: found.subject }]);
  return found;
});

export const signInTransactions = [createSession, listIdentities, linkIdentity, unlinkIdentity];

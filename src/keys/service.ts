// Authenticates credentials, and creates, lists and revokes them.
import { type Cache, createCache } from '../db/cache.ts';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import { AppError, invalid } from '../errors.ts';
import { createConversationKeys } from './conversationKeys.ts';
import {
  type Credential,
  createCredential,
  credentialId,
  hashBytes,
  isKeyId,
  sameHash,
} from './credentials.ts';
import type { Principal } from './principal.ts';
import {
  bearerScopes,
  type CreatedKey,
  type KeyKind,
  type KeyRecord,
  type NewKey,
  type Scope,
  scopes,
  sessionScopes,
} from './schema.ts';
import { createKey, findKey, type KeyRow, listKeys, recordUses, revokeKey } from './store.ts';

const cachedKeysMax = 10_000;
const flushUsesMs = 5_000;
const rememberedMax = 1_000;
const anonymousKeyId = 'none';

interface KeysOptions {
  readonly database: Database;
  readonly vault: Pick<Vault, 'mac'>;
  readonly owner: { readonly id: number; readonly name: string };
  readonly sessionApiKey: string | undefined;
  readonly authToken: string | undefined;
  /** API keys keep their scopes if they are sent as Bearer. */
  readonly acceptBearer: boolean;
  /** Requests without a credential act as the owner. */
  readonly withoutKey: boolean;
  readonly onBackgroundError: (error: Error) => void;
  readonly now?: () => number;
}

export type Keys = ReturnType<typeof createKeys>;

interface KeyFacts {
  readonly id: string;
  readonly name: string;
  readonly userId: number;
  readonly userName: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number;
  readonly bearer: boolean;
}

interface CachedKey {
  readonly hash: Buffer;
  readonly kind: KeyKind;
  readonly expiresAt: number;
  readonly revoked: boolean;
  readonly principals: Readonly<Record<KeyKind, Principal>>;
}

/** The parsed and hashed text of a credential. Computing it costs more than the rest of a read. */
interface Reading {
  readonly hash: Buffer;
  /** Undefined if the text has another format. */
  readonly id: string | undefined;
}

function notFound(): AppError {
  return new AppError('not_found', 'This API key does not exist.');
}

export function toRecord(row: KeyRow): KeyRecord {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    id: row.id,
    name: row.name,
    kind: row.kind as KeyKind,
    user: row.user,
    scopes: JSON.parse(row.scopes) as Scope[],
    bearer: row.bearer === 1,
    created_at: new Date(row.created_at).toISOString(),
    expires_at: iso(row.expires_at),
    last_used_at: iso(row.last_used_at),
    revoked_at: iso(row.revoked_at),
  };
}

/** The scopes of a new key: those that were requested, or the defaults. Throws `invalid`. */
export function chooseScopes(kind: KeyKind, asked: readonly Scope[] | undefined): readonly Scope[] {
  if (kind === 'session') return asked ?? sessionScopes;
  if (asked?.some((scope) => !bearerScopes.includes(scope)))
    throw invalid([{ path: 'scopes', message: 'of a bearer token can only be settings:read' }]);
  return bearerScopes;
}

export function createKeys(options: KeysOptions) {
  const { database, owner, acceptBearer, onBackgroundError, now = Date.now } = options;
  const cache: Cache<CachedKey> = createCache(database, { entriesMax: cachedKeysMax });
  const uses = new Map<string, number>();
  /** Results for credentials that were accepted. */
  const remembered = new Map<string, Reading>();
  const preset = presetKeys(options);
  const conversationKeys = createConversationKeys({ database, vault: options.vault, findGood });
  const flushTimer = setInterval(() => void flushUses().catch(onBackgroundError), flushUsesMs);
  flushTimer.unref();

  function principalsOf(row: KeyFacts) {
    const { userId, userName, expiresAt } = row;
    const acceptsBearer = acceptBearer || row.bearer;
    const known = { userId, userName, keyId: row.id, keyName: row.name, expiresAt, acceptsBearer };
    const held = new Set(row.scopes);
    const readOnly = new Set(bearerScopes.filter((scope) => held.has(scope)));
    return {
      session: { ...known, via: 'session', scopes: held },
      bearer: { ...known, via: 'bearer', scopes: acceptsBearer ? held : readOnly },
    } as const;
  }

  function presetKeys({ sessionApiKey, authToken }: KeysOptions): CachedKey[] {
    const make = (
      id: string,
      name: string,
      kind: KeyKind,
      text: string,
      held: readonly Scope[],
    ): CachedKey => ({
      hash: hashBytes(text),
      kind,
      expiresAt: Number.POSITIVE_INFINITY,
      revoked: false,
      principals: principalsOf({
        id,
        name,
        userId: owner.id,
        userName: owner.name,
        scopes: held,
        expiresAt: Number.POSITIVE_INFINITY,
        bearer: false,
      }),
    });
    return [
      ...(sessionApiKey === undefined
        ? []
        : [make('environment-session', 'SESSION_API_KEY', 'session', sessionApiKey, scopes)]),
      ...(authToken === undefined || authToken === sessionApiKey
        ? []
        : [make('environment-token', 'PARLEY_AUTH_TOKEN', 'bearer', authToken, bearerScopes)]),
    ];
  }

  function toCached(row: KeyRow): CachedKey {
    return {
      hash: Buffer.from(row.hash, 'hex'),
      kind: row.kind as KeyKind,
      expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY,
      revoked: row.revoked_at !== null,
      principals: principalsOf({
        id: row.id,
        name: row.name,
        userId: row.user_id,
        userName: row.user,
        scopes: JSON.parse(row.scopes) as Scope[],
        expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY,
        bearer: row.bearer === 1,
      }),
    };
  }

  function accept(key: CachedKey, hash: Buffer, via: KeyKind, at: number): Principal | undefined {
    const same = key.hash === hash || sameHash(key.hash, hash);
    if (!same || key.revoked || key.expiresAt <= at) return undefined;
    // A bearer token does not work as an API key; an API key that is sent as Bearer counts as a token.
    return via === 'session' && key.kind === 'bearer' ? undefined : key.principals[via];
  }

  /** The principal of a credential, without a promise if it is cached; undefined if it is not valid. */
  function authenticate(text: string, via: KeyKind): Principal | undefined | Promise<Principal | undefined> {
    const known = remembered.get(text);
    const { hash, id } = known ?? { hash: hashBytes(text), id: credentialId(text) };
    const at = now();
    for (const key of preset) {
      // A known text was accepted before, by this key or by another one.
      if (known !== undefined && key.hash !== hash) continue;
      const principal = accept(key, hash, via, at);
      if (principal === undefined) continue;
      if (known === undefined) remember(text, { hash: key.hash, id });
      return principal;
    }
    if (id === undefined) return via === 'session' ? conversationKeys.authenticate(text) : undefined;
    const stored = cache.find(id);
    return stored === undefined ? loadKey(id).then((key) => key && use(id, key)) : use(id, stored);

    function use(id: string, key: CachedKey): Principal | undefined {
      const principal = accept(key, hash, via, at);
      if (principal === undefined) return undefined;
      uses.set(id, at);
      // Also if the key was read again, so that its hash is the same object.
      if (known === undefined || hash !== key.hash) remember(text, { hash: key.hash, id });
      return principal;
    }
  }

  /** Finds a key that is neither revoked nor expired. */
  async function findGood(keyId: string): Promise<CachedKey | undefined> {
    const key =
      preset.find(({ principals }) => principals.session.keyId === keyId) ??
      cache.find(keyId) ??
      (await loadKey(keyId));
    return key !== undefined && !key.revoked && key.expiresAt > now() ? key : undefined;
  }

  function remember(text: string, reading: Reading): void {
    if (remembered.size >= rememberedMax && !remembered.has(text)) remembered.clear();
    remembered.set(text, reading);
  }

  function loadKey(id: string): Promise<CachedKey | undefined> {
    return cache.load(id, async () => {
      const row = await database.run(findKey, id);
      return row && toCached(row);
    });
  }

  /** Whether a key that was accepted is still valid. */
  async function isGood(keyId: string): Promise<boolean> {
    return keyId === anonymous?.keyId || (await findGood(keyId)) !== undefined;
  }

  /** The sender of requests without a credential; undefined if they are refused. */
  const anonymous: Principal | undefined = options.withoutKey
    ? {
        userId: owner.id,
        userName: owner.name,
        keyId: anonymousKeyId,
        keyName: 'none',
        via: 'session',
        scopes: new Set(sessionScopes),
        expiresAt: Number.POSITIVE_INFINITY,
        acceptsBearer: false,
      }
    : undefined;

  async function flushUses(): Promise<void> {
    if (uses.size === 0) return;
    const batch = [...uses].map(([id, at]) => ({ id, at }));
    uses.clear();
    try {
      await database.run(recordUses, batch);
    } catch (error) {
      for (const { id, at } of batch) if (!uses.has(id)) uses.set(id, at);
      throw error;
    }
  }

  async function create(principal: Principal, request: NewKey): Promise<CreatedKey> {
    const kind = request.kind ?? 'session';
    if (request.bearer && kind === 'bearer')
      throw invalid([{ path: 'bearer', message: 'is only for API keys; a bearer token is always sent so' }]);
    const userName = request.user ?? principal.userName;
    if (userName !== principal.userName && !principal.scopes.has('admin'))
      throw new AppError('forbidden', 'Creating a key for another user requires a key with the scope admin.');
    const granted = chooseScopes(kind, request.scopes);
    const missing = granted.filter((scope) => !principal.scopes.has(scope));
    if (missing.length > 0)
      throw new AppError('forbidden', `Your key does not have ${missing.join(', ')} and cannot grant it.`);
    return issueKey(database, {
      by: principal.keyId,
      kind,
      userName,
      name: request.name,
      scopes: granted,
      expiresAt: expiry(request, principal),
      bearer: request.bearer ?? false,
    });
  }

  /** No key expires later than the one that creates it. */
  function expiry({ expires_at }: NewKey, maker: Principal): number | null {
    const latest = Number.isFinite(maker.expiresAt) ? maker.expiresAt : null;
    if (expires_at === null || expires_at === undefined) return latest;
    const at = Date.parse(expires_at);
    const fault = (message: string) => invalid([{ path: 'expires_at', message }]);
    if (Number.isNaN(at)) throw fault('must be a time such as 2030-01-31T12:00:00Z');
    if (at <= now()) throw fault('must be in the future');
    if (latest !== null && at > latest) throw fault('must not be later than the expiry of your own key');
    return at;
  }

  async function list(principal: Principal): Promise<KeyRecord[]> {
    await flushUses().catch(onBackgroundError);
    return (await database.run(listKeys, { userId: principal.userId })).map(toRecord);
  }

  async function revoke(principal: Principal, id: string): Promise<KeyRecord> {
    if (!isKeyId(id)) throw notFound();
    const mine: { userId?: number } = principal.scopes.has('admin') ? {} : { userId: principal.userId };
    const key = await database.run(findKey, id);
    if (key === undefined || (mine.userId ?? key.user_id) !== key.user_id) throw notFound();
    if (toRecord(key).scopes.some((scope) => !principal.scopes.has(scope)))
      throw new AppError(
        'forbidden',
        'This key has scopes that your key does not have, so that you cannot revoke it.',
      );
    const row = await database.run(revokeKey, { id, by: principal.keyId, ...mine });
    if (row === undefined) throw notFound();
    cache.forget(id);
    return toRecord(row);
  }

  async function close(): Promise<void> {
    clearInterval(flushTimer);
    await flushUses().catch(onBackgroundError);
  }

  return {
    authenticate,
    anonymous,
    conversationKeys: conversationKeys.of,
    isGood,
    create,
    list,
    revoke,
    close,
  };
}

export interface KeyGrant {
  readonly kind: KeyKind;
  readonly userName: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number | null;
  readonly bearer: boolean;
  /** The id of the creating key, for the audit log. */
  readonly by: string;
}

export function toRow(grant: KeyGrant, credential: Credential) {
  return {
    id: credential.id,
    userName: grant.userName,
    kind: grant.kind,
    name: grant.name,
    hash: credential.hash,
    scopes: JSON.stringify(grant.scopes),
    bearer: grant.bearer,
    expiresAt: grant.expiresAt,
    by: grant.by,
  };
}

/** Creates and stores a credential. Its text is only in the response. */
export async function issueKey(database: Database, grant: KeyGrant): Promise<CreatedKey> {
  const credential = createCredential(grant.kind);
  const row = await database.run(createKey, toRow(grant, credential));
  if (row === undefined)
    throw new AppError(
      'limit_reached',
      'This user has too many API keys; revoke one that is no longer used.',
    );
  return { ...toRecord(row), key: credential.text };
}

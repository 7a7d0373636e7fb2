// Authenticates credentials. Accepted ones are kept in memory, and checked again within a second after a change.
import { type Cache, createCache } from '../db/cache.ts';
import type { Database } from '../db/transaction.ts';
import type { Vault } from '../encryption/vault.ts';
import { findActivity, isActive, type User } from '../users/store.ts';
import { type CachedKey, presetKeys, toCachedKey, toCachedSession } from './cachedKeys.ts';
import { createConversationKeys } from './conversationKeys.ts';
import { credentialId, hashBytes, isSessionId, sameHash } from './credentials.ts';
import type { Principal } from './principal.ts';
import { type KeyKind, sessionScopes } from './schema.ts';
import { findSession, recordSessionUses } from './sessionStore.ts';
import { findKey, recordUses } from './store.ts';

const cachedKeysMax = 10_000;
const flushUsesMs = 5_000;
const rememberedMax = 1_000;
const anonymousKeyId = 'none';

export interface AuthenticationOptions {
  readonly database: Database;
  readonly vault: Pick<Vault, 'mac'>;
  readonly owner: User;
  readonly sessionApiKey: string | undefined;
  readonly authToken: string | undefined;
  /** API keys keep their scopes if they are sent as Bearer. */
  readonly acceptBearer: boolean;
  /** Requests without a credential act as the owner. */
  readonly withoutKey: boolean;
  /** A session ends if it is not used for so long. */
  readonly sessionIdleMs: number;
  readonly onBackgroundError: (error: Error) => void;
  readonly now?: () => number;
}

/** The parsed and hashed text of a credential. Computing it costs more than the rest of a read. */
interface Reading {
  readonly hash: Buffer;
  /** Undefined if the text has another format. */
  readonly id: string | undefined;
}

const isSession = ({ id }: { id: string }) => isSessionId(id);

export function createAuthentication(options: AuthenticationOptions) {
  const { database, owner, acceptBearer, onBackgroundError, now = Date.now } = options;
  const cache: Cache<CachedKey> = createCache(database, { entriesMax: cachedKeysMax });
  const uses = new Map<string, number>();
  /** Results for credentials that were accepted. */
  const remembered = new Map<string, Reading>();
  const preset = presetKeys(options);
  const conversationKeys = createConversationKeys({ database, vault: options.vault, findGood });
  /** Whether the owner is active: no row shows that for keys that are not in the database. */
  const ownerActivity = createCache<{ readonly isActive: boolean }>(database, { entriesMax: 1 });
  let lastOwnerActivity = { isActive: isActive(owner) };
  const flushTimer = setInterval(() => void flushUses().catch(onBackgroundError), flushUsesMs);
  flushTimer.unref();

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
      return ifOwnerActive(principal);
    }
    if (id === undefined) return via === 'session' ? conversationKeys.authenticate(text) : undefined;
    const stored = findCached(id, at);
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

  /** If the database cannot be read, the last known state counts, so that metrics can still be read. */
  async function loadOwnerActivity(): Promise<{ readonly isActive: boolean }> {
    const load = async () => ({ isActive: (await database.run(findActivity, owner.id)) === true });
    const loaded = await ownerActivity.load(owner.id, load).catch(() => undefined);
    lastOwnerActivity = loaded ?? lastOwnerActivity;
    return lastOwnerActivity;
  }

  function ifOwnerActive<Value>(value: Value): Value | undefined | Promise<Value | undefined> {
    const known = ownerActivity.find(owner.id);
    if (known !== undefined) return known.isActive ? value : undefined;
    return loadOwnerActivity().then((loaded) => (loaded.isActive ? value : undefined));
  }

  /** Finds a key that is neither revoked nor expired. */
  async function findGood(keyId: string): Promise<CachedKey | undefined> {
    const presetKey = preset.find(({ principals }) => principals.session.keyId === keyId);
    if (presetKey !== undefined) return ifOwnerActive(presetKey);
    const key = findCached(keyId, now()) ?? (await loadKey(keyId));
    return key !== undefined && !key.revoked && key.expiresAt > now() ? key : undefined;
  }

  /** Undefined also if a session looks expired here, but may have been extended. */
  function findCached(id: string, at: number): CachedKey | undefined {
    const key = cache.find(id);
    return key !== undefined && key.expiresAt <= at && at < key.endsAt ? undefined : key;
  }

  function remember(text: string, reading: Reading): void {
    if (remembered.size >= rememberedMax && !remembered.has(text)) remembered.clear();
    remembered.set(text, reading);
  }

  function loadKey(id: string): Promise<CachedKey | undefined> {
    return cache.load(id, async () => {
      if (isSessionId(id)) return loadSession(id);
      const row = await database.run(findKey, id);
      return row && toCachedKey(row, acceptBearer);
    });
  }

  async function loadSession(id: string): Promise<CachedKey | undefined> {
    // The latest uses may decide whether it has expired.
    if (uses.has(id)) await flushUses();
    const row = await database.run(findSession, id);
    return row && toCachedSession(row, acceptBearer);
  }

  /** Whether a key that was accepted is still valid. */
  async function isGood(keyId: string): Promise<boolean> {
    if (keyId === anonymous?.keyId) return (await ifOwnerActive(anonymous)) !== undefined;
    return (await findGood(keyId)) !== undefined;
  }

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
    const [sessions, keys] = [batch.filter(isSession), batch.filter((used) => !isSession(used))];
    try {
      if (keys.length > 0) await database.run(recordUses, keys);
      if (sessions.length > 0)
        await database.run(recordSessionUses, { uses: sessions, idleMs: options.sessionIdleMs });
    } catch (error) {
      for (const { id, at } of batch) if (!uses.has(id)) uses.set(id, at);
      throw error;
    }
  }

  async function close(): Promise<void> {
    clearInterval(flushTimer);
    await flushUses().catch(onBackgroundError);
  }

  return {
    authenticate,
    /** The sender of requests without a credential; undefined if they are refused. */
    authenticateAnonymous: () => anonymous && ifOwnerActive(anonymous),
    conversationKeys: conversationKeys.of,
    isGood,
    /** Must be called after a change of one key or session. Other processes notice it within a second. */
    forget: cache.forget,
    flushUses,
    /** Must be called after a change of users. Other processes notice it within a second. */
    forgetAll: () => {
      cache.forgetAll();
      ownerActivity.forgetAll();
    },
    close,
  };
}

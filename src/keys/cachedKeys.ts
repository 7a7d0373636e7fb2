// Keys and sessions as they are kept in memory, with the principals that they stand for.
import { isActive, type User } from '../users/store.ts';
import { hashBytes } from './credentials.ts';
import { type Principal, sessionKeyName } from './principal.ts';
import { bearerScopes, type KeyKind, type Scope, scopes } from './schema.ts';
import type { SessionRow } from './sessionStore.ts';
import type { KeyRow } from './store.ts';

interface KeyFacts {
  readonly id: string;
  readonly name: string;
  readonly userId: number;
  readonly userName: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number;
  readonly bearer: boolean;
}

export interface CachedKey {
  readonly hash: Buffer;
  readonly kind: KeyKind;
  readonly expiresAt: number;
  /** Until then, uses in any process may have extended the expiry; only that of a session can be extended. */
  readonly endsAt: number;
  readonly revoked: boolean;
  readonly principals: Readonly<Record<KeyKind, Principal>>;
}

function principalsOf(row: KeyFacts, acceptBearer: boolean) {
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

interface PresetOptions {
  readonly owner: User;
  readonly sessionApiKey: string | undefined;
  readonly authToken: string | undefined;
  readonly acceptBearer: boolean;
}

/** The owner's keys in the environment. */
export function presetKeys({ owner, sessionApiKey, authToken, acceptBearer }: PresetOptions): CachedKey[] {
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
    endsAt: Number.POSITIVE_INFINITY,
    revoked: false,
    principals: principalsOf(
      {
        id,
        name,
        userId: owner.id,
        userName: owner.name,
        scopes: held,
        expiresAt: Number.POSITIVE_INFINITY,
        bearer: false,
      },
      acceptBearer,
    ),
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

export function toCachedKey(row: KeyRow, acceptBearer: boolean): CachedKey {
  const expiresAt = row.expires_at ?? Number.POSITIVE_INFINITY;
  return {
    hash: Buffer.from(row.hash, 'hex'),
    kind: row.kind as KeyKind,
    expiresAt,
    endsAt: expiresAt,
    revoked: row.revoked_at !== null || !isActive(row),
    principals: principalsOf(
      {
        id: row.id,
        name: row.name,
        userId: row.user_id,
        userName: row.user,
        scopes: JSON.parse(row.scopes) as Scope[],
        expiresAt,
        bearer: row.bearer === 1,
      },
      acceptBearer,
    ),
  };
}

export function toCachedSession(row: SessionRow, acceptBearer: boolean): CachedKey {
  return {
    hash: Buffer.from(row.hash, 'hex'),
    kind: 'session',
    expiresAt: row.expires_at,
    endsAt: row.ends_at,
    revoked: row.ended_at !== null || !isActive(row),
    principals: principalsOf(
      {
        id: row.id,
        name: sessionKeyName,
        userId: row.user_id,
        userName: row.user,
        scopes: JSON.parse(row.scopes) as Scope[],
        expiresAt: row.ends_at,
        bearer: false,
      },
      acceptBearer,
    ),
  };
}

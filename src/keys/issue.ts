// Creates keys, and shows them without their secret.
import type { Database } from '../db/transaction.ts';
import { AppError, invalid } from '../errors.ts';
import { type Credential, createCredential } from './credentials.ts';
import {
  bearerScopes,
  type CreatedKey,
  type KeyKind,
  type KeyRecord,
  type Scope,
  sessionScopes,
} from './schema.ts';
import { createKey, type KeyOwner, type KeyRow } from './store.ts';

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

export interface KeyGrant {
  readonly kind: KeyKind;
  readonly owner: KeyOwner;
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
    owner: grant.owner,
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
  if (row === 'inactive_user')
    throw new AppError('user_inactive', 'This user is disabled or removed, so that no key would be valid.');
  if (row === 'too_many')
    throw new AppError(
      'limit_reached',
      'This user has too many API keys; revoke one that is no longer used.',
    );
  return { ...toRecord(row), key: credential.text };
}

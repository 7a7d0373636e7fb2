// The sender of a request: a user, and what the credential allows.
import type { KeyKind, Me, Scope } from './schema.ts';

export interface Principal {
  readonly userId: number;
  readonly userName: string;
  readonly keyId: string;
  readonly keyName: string;
  /** How the credential was sent, which decides what settings show. */
  readonly via: KeyKind;
  readonly scopes: ReadonlySet<Scope>;
  /** When the credential expires, in milliseconds; Infinity if it does not. */
  readonly expiresAt: number;
  /** The API key is accepted as Authorization: Bearer on every route. */
  readonly acceptsBearer: boolean;
  /** The only conversation that the credential is valid for; absent if it is valid for all of the user. */
  readonly conversationId?: string;
}

/** The name of every session, where keys show theirs. */
export const sessionKeyName = 'sign-in';

/** What the holder of a credential may see about it. */
export function describePrincipal({ userName, keyId, keyName, scopes, expiresAt }: Principal): Me {
  return {
    user: userName,
    key_id: keyId,
    key_name: keyName,
    scopes: [...scopes],
    expires_at: Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : null,
  };
}

// Who is asking: a user, and what the credential of this request allows.
import type { KeyKind, Scope } from './schema.ts';

export interface Principal {
  readonly userId: number;
  readonly userName: string;
  readonly keyId: string;
  /** How the credential was sent, which decides what settings show. */
  readonly via: KeyKind;
  readonly scopes: ReadonlySet<Scope>;
  /** When the credential ends, in milliseconds; Infinity where it does not. */
  readonly expiresAt: number;
}

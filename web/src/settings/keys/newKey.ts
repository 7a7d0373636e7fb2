// A key that is to be made: the fields of its form, and what is sent of them.
import type { NewKey, Scope } from '../../../../src/client/parley.ts';
import { type ExpiryChoice, expiresAt } from '../expiry.ts';

export interface KeyFields {
  readonly name: string;
  readonly kind: 'session' | 'bearer';
  readonly scopes: readonly Scope[];
  readonly expiry: ExpiryChoice;
  readonly day: string;
}

export const newKey: KeyFields = {
  name: '',
  kind: 'session',
  scopes: ['settings:read', 'settings:write', 'conversations:read', 'conversations:write', 'webhooks:manage'],
  expiry: 'never',
  day: '',
};

export class DayMissing extends Error {}

/** With no scope that has no box: who makes a key can give only what they hold. Throws `DayMissing`. */
export function toRequest(fields: KeyFields, grantable: readonly Scope[], now: number): NewKey {
  const { name, kind, scopes, expiry, day } = fields;
  const expires_at = expiresAt(expiry, day, now);
  if (expires_at === undefined) throw new DayMissing();
  if (kind === 'bearer') return { name, kind, expires_at };
  return { name, kind, expires_at, scopes: scopes.filter((scope) => grantable.includes(scope)) };
}

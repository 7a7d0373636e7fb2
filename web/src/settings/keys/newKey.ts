// The fields of the form that creates a key, and the request that they become.
import type { NewKey, Scope } from '../../../../src/client/parley.ts';

export const expiryChoices = ['never', '7', '30', '90', '365', 'date'] as const;
export type ExpiryChoice = (typeof expiryChoices)[number];

const dayMs = 86_400_000;

/** Returns null for never, and undefined if the day has not been picked yet. */
function expiresAt(choice: ExpiryChoice, day: string, now: number): string | null | undefined {
  if (choice === 'never') return null;
  if (choice !== 'date') return new Date(now + Number(choice) * dayMs).toISOString();
  // The key works until the end of that day in the user's time zone.
  const end = new Date(`${day}T23:59:59`);
  return day === '' || Number.isNaN(end.getTime()) ? undefined : end.toISOString();
}

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

/** Requests only scopes that the user can grant. Throws `DayMissing`. */
export function toRequest(fields: KeyFields, grantable: readonly Scope[], now: number): NewKey {
  const { name, kind, scopes, expiry, day } = fields;
  const expires_at = expiresAt(expiry, day, now);
  if (expires_at === undefined) throw new DayMissing();
  if (kind === 'bearer') return { name, kind, expires_at };
  return { name, kind, expires_at, scopes: scopes.filter((scope) => grantable.includes(scope)) };
}

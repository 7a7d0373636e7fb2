// Checks the `secrets_store` that clients send back with the rest of the settings. It is read-only, and values in it
// are rejected because ignoring them would look like success.
import type { Detail } from '../errors.ts';
import { mask } from '../mcp/secrets.ts';
import { isObject } from '../text/foreignText.ts';

/** Fields of an entry that are not secret. Clients of the previous server also send `user_id`. */
const shownFields = new Set(['host', 'description', 'user_id']);

const storeAt = {
  provider_tokens: 'POST /api/add-git-providers',
  custom_secrets: 'POST /api/secrets',
} as const;

function isValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && value !== mask;
}

function holdsValue(entry: unknown): boolean {
  if (!isObject(entry)) return isValue(entry);
  return Object.entries(entry).some(([name, value]) => !shownFields.has(name) && isValue(value));
}

function faultsOfMap(name: keyof typeof storeAt, entries: unknown): Detail[] {
  const path = `secrets_store.${name}`;
  if (entries === undefined || entries === null) return [];
  if (!isObject(entries)) return [{ path, message: 'must be an object' }];
  return Object.values(entries).some(holdsValue)
    ? [{ path, message: `must not contain values; store them with ${storeAt[name]}` }]
    : [];
}

/** Validates the `secrets_store` of a POST. Empty maps and whatever GET returned are accepted. */
export function sentSecretsFaults(store: unknown): Detail[] {
  if (store === undefined || store === null) return [];
  if (!isObject(store)) return [{ path: 'secrets_store', message: 'must be an object' }];
  return (Object.keys(storeAt) as (keyof typeof storeAt)[]).flatMap((name) => faultsOfMap(name, store[name]));
}

// The secrets_store that clients send back with the rest of the record. It shows what is stored and stores nothing, so
// that a value in it is refused: dropping it silently would look like success.
import type { Detail } from '../errors.ts';
import { mask } from '../mcp/secrets.ts';

/** What an entry shows beside its value; `user_id` is what the previous server kept with a token. */
const shownFields = new Set(['host', 'description', 'user_id']);

const storeAt = {
  provider_tokens: 'POST /api/add-git-providers',
  custom_secrets: 'POST /api/secrets',
} as const;

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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
    ? [{ path, message: `must not hold values here; store them with ${storeAt[name]}` }]
    : [];
}

/** What is wrong with the `secrets_store` of a POST, or nothing: empty maps and what GET returned are fine. */
export function sentSecretsFaults(store: unknown): Detail[] {
  if (store === undefined || store === null) return [];
  if (!isObject(store)) return [{ path: 'secrets_store', message: 'must be an object' }];
  return (Object.keys(storeAt) as (keyof typeof storeAt)[]).flatMap((name) => faultsOfMap(name, store[name]));
}

// Settings as ready bytes per user and shape, so that reading them is a look-up.
import { hash } from 'node:crypto';
import { createCache } from '../db/cache.ts';
import type { Database } from '../db/transaction.ts';
import type { KeyKind } from '../keys/schema.ts';
import { toFullSettings, toReducedSettings } from './record.ts';
import { findSettings } from './store.ts';

const cachedUsersMax = 10_000;
const etagDigits = 16;

export interface Rendered {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** What a session key sees, and what a bearer token sees. */
type Shapes = Readonly<Record<KeyKind, Rendered>>;

export type Settings = ReturnType<typeof createSettings>;

function render(value: unknown, version: number): Rendered {
  const text = JSON.stringify(value);
  return {
    bytes: Buffer.from(text),
    etag: `"${version}-${hash('sha256', text, 'hex').slice(0, etagDigits)}"`,
  };
}

export function createSettings({ database }: { database: Database }) {
  const cache = createCache<Shapes>(database, { entriesMax: cachedUsersMax });

  async function load(userId: number): Promise<Shapes> {
    const rows = await database.run(findSettings, userId);
    const full = toFullSettings(rows);
    return { session: render(full, rows.version), bearer: render(toReducedSettings(full), rows.version) };
  }

  /** The record in the shape for that kind of credential, at once where it is known. */
  function get(userId: number, shape: KeyKind): Rendered | Promise<Rendered> {
    const known = cache.find(userId);
    if (known !== undefined) return known[shape];
    return cache.load(userId, () => load(userId)).then((shapes) => (shapes as Shapes)[shape]);
  }

  return { get };
}

// The service of keys on its own, for tests of what depends on time and on other transactions.
import assert from 'node:assert/strict';
import type { Database } from '../../src/db/transaction.ts';
import { createKeys, type Keys } from '../../src/keys/service.ts';
import { ownerName } from '../../src/users/owner.ts';
import { ensureUser } from '../../src/users/store.ts';

export const minuteMs = 60_000;

/** Sessions end after ten minutes without a use. */
export async function openKeys(
  database: Database,
  now: () => number,
  t: { after(fn: () => Promise<void>): void },
): Promise<Keys> {
  const keys = createKeys({
    database,
    vault: { mac: () => '' },
    owner: await database.run(ensureUser, ownerName),
    sessionApiKey: undefined,
    authToken: undefined,
    acceptBearer: false,
    withoutKey: false,
    sessionIdleMs: 10 * minuteMs,
    onBackgroundError: (error) => assert.fail(error),
    now,
  });
  t.after(keys.close);
  return keys;
}

// Deletes changes that are too old to be streamed.
import type { Database } from '../../db/transaction.ts';
import { repeat } from '../../process/repeat.ts';
import { listUserIds } from '../../users/store.ts';
import { purgeChanges } from './store.ts';

/** Subscribers that were away for longer must read the whole list again. */
export const changesKeptMs = 7 * 24 * 60 * 60 * 1_000;
const purgeEveryMs = 60 * 60 * 1_000;
const purgeMax = 1_000;

interface PurgeOptions {
  readonly database: Database;
  readonly onBackgroundError: (error: Error) => void;
  readonly keptMs?: number;
}

export function createChangePurge({ database, onBackgroundError, keptMs = changesKeptMs }: PurgeOptions) {
  async function purge(): Promise<void> {
    for (const userId of await database.run(listUserIds, null))
      while ((await database.run(purgeChanges, { userId, ageMs: keptMs, max: purgeMax })) === purgeMax);
  }
  const { stop } = repeat(purge, purgeEveryMs, onBackgroundError);
  return { purge, close: stop };
}

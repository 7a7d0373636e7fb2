// Removes uploads that nobody needs any more: their conversation has them, was deleted or stopped long ago, or they were
// never complete. Every process handles the uploads of its own machine.
import type { Database } from '../../db/transaction.ts';
import { repeat } from '../../process/repeat.ts';
import type { Staging } from './staging.ts';
import { pruneUploads } from './store.ts';

/** Uploads per query. */
const idsMax = 500;
const dayMs = 24 * 60 * 60_000;

interface UploadRetentionOptions {
  readonly database: Database;
  readonly staging: Staging;
  /** How many days the files of a stopped conversation are kept; 0 means for ever. */
  readonly days: number;
  readonly everyMs: number;
  readonly onBackgroundError: (error: Error) => void;
  readonly now?: () => number;
}

export function createUploadRetention(options: UploadRetentionOptions) {
  const { database, staging, days, everyMs, onBackgroundError, now = Date.now } = options;

  async function removeUnused(): Promise<void> {
    const old = await staging.listOld(now());
    const stoppedMs = days === 0 ? null : days * dayMs;
    for (let at = 0; at < old.length; at += idsMax) {
      const ids = old.slice(at, at + idsMax);
      const kept = new Set(await database.run(pruneUploads, { ids, stoppedMs }));
      for (const id of ids) if (!kept.has(id)) await staging.remove(id);
    }
  }

  const { run, stop } = repeat(removeUnused, everyMs, onBackgroundError);
  return { removeUnused: run, close: stop };
}

// Removes snapshots of conversations that were deleted, or stopped long ago. Any process can do it, and a crash in the
// middle only means that the next pass goes on.
import type { BlobStore } from '../../blobs/blobStore.ts';
import type { Database } from '../../db/transaction.ts';
import { repeat } from '../../process/repeat.ts';
import { copyMsMax, storeCallMs, storeMsMax } from './bounds.ts';
import { expireSnapshots, forgetSnapshot, listRemoved } from './store.ts';

/** Snapshots that are looked at together, and how often per pass; the next pass goes on after them. */
const lookedAtMax = 1_000;
const looksMax = 20;
/** Snapshots whose blobs are removed per pass. */
const removedMax = 100;
/** Snapshots that cannot be removed, after which a pass ends: the store is probably down. */
const failuresMax = 10;
const blobsPerCall = 500;
/** Calls for one snapshot per pass. */
const callsMax = 200;
/** A process that is often restarted must come to its first pass, too. */
const firstMsDefault = 10_000;
const dayMs = 24 * 60 * 60_000;
/** A run that has not noticed yet may write until then. */
const writtenMs = copyMsMax + 2 * storeMsMax;

interface SweepOptions {
  readonly database: Database;
  readonly store: BlobStore;
  /** How many days the files of a stopped conversation are kept; 0 means for ever. */
  readonly days: number;
  readonly everyMs: number;
  /** When the first pass begins. */
  readonly firstMs?: number;
  readonly onBackgroundError: (error: Error) => void;
}

export function createSnapshotSweep(options: SweepOptions) {
  const { database, store, days, everyMs, firstMs = firstMsDefault, onBackgroundError } = options;
  const stoppedMs = days === 0 ? null : days * dayMs;
  let after = '';

  /** Returns whether none is left. */
  async function removeBlobs(id: string): Promise<boolean> {
    for (let calls = 0; calls < callsMax; calls++) {
      const blobs = await store.list(id, blobsPerCall, AbortSignal.timeout(storeCallMs));
      if (blobs.length === 0) return true;
      await store.remove(id, blobs, AbortSignal.timeout(storeCallMs));
    }
    return false;
  }

  async function sweep(): Promise<void> {
    for (let looks = 0; looks < looksMax; looks++) {
      after = (await database.run(expireSnapshots, { after, max: lookedAtMax, stoppedMs })) ?? '';
      if (after === '') break;
    }
    const removed = await database.run(listRemoved, { max: removedMax, sinceMs: writtenMs });
    const failures: Error[] = [];
    for (const { id, isOld } of removed) {
      if (failures.length >= failuresMax) break;
      try {
        if ((await removeBlobs(id)) && isOld) await database.run(forgetSnapshot, id);
      } catch (error) {
        const { message } = error as Error;
        failures.push(new Error(`the snapshot in ${id} cannot be removed: ${message}`, { cause: error }));
      }
    }
    if (failures[0] !== undefined) throw failures[0];
  }

  const { run, stop } = repeat(sweep, everyMs, onBackgroundError);
  const first = setTimeout(() => void run(), Math.min(firstMs, everyMs)).unref();
  const close = () => {
    clearTimeout(first);
    return stop();
  };
  return { sweep: run, close };
}

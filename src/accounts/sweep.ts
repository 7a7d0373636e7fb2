// Stops what inactive users still run, and deletes what removed users owned and old spending. Every process does this, so that it happens
// as long as any process is alive.
import { pruneSpending } from '../budgets/store.ts';
import type { Database } from '../db/transaction.ts';
import { repeat } from '../process/repeat.ts';
import { listStillRunning } from './liveStore.ts';
import { listPurgeable, purgeStep } from './purgeStore.ts';
import { removedMsOf, stopAll } from './service.ts';

const stopEveryMs = 1_000;
const purgeEveryMs = 60_000;
const usersAtOnceMax = 100;
const pruneEveryMs = 60 * 60_000;
/** Rows per transaction. */
const prunedAtOnceMax = 1_000;

interface AccountSweepOptions {
  readonly database: Database;
  readonly removedDays: number;
  readonly onBackgroundError: (error: Error) => void;
}

export function createAccountSweep({ database, removedDays, onBackgroundError }: AccountSweepOptions) {
  const removedMs = removedMsOf(removedDays);
  let isClosing = false;
  let lastPurged = 0;

  /** A process that had not noticed yet may have started something, or the disabling process has died. */
  async function stopInactive(): Promise<void> {
    for (const userId of await database.run(listStillRunning, usersAtOnceMax))
      await stopAll(database, userId);
  }

  /** Each pass goes on after the last user of the one before, so that users who wait for a run keep no others waiting. */
  async function purge(): Promise<void> {
    const users = await database.run(listPurgeable, { removedMs, after: lastPurged, max: usersAtOnceMax });
    lastPurged = users.length < usersAtOnceMax ? 0 : (users.at(-1) ?? 0);
    for (const userId of users)
      while (!isClosing && (await database.run(purgeStep, { userId, removedMs })) === 'more');
  }

  async function prune(): Promise<void> {
    while (!isClosing && (await database.run(pruneSpending, prunedAtOnceMax)) === prunedAtOnceMax);
  }

  const stops = repeat(stopInactive, stopEveryMs, onBackgroundError);
  const purges = repeat(purge, purgeEveryMs, onBackgroundError);
  const prunes = repeat(prune, pruneEveryMs, onBackgroundError);
  return {
    stopInactive: stops.run,
    purge: purges.run,
    prune: prunes.run,
    close: async () => {
      isClosing = true;
      await Promise.all([stops.stop(), purges.stop(), prunes.stop()]);
    },
  };
}

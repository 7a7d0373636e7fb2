// Limits how many conversations of a user wait for a worker. They are counted in the database at most once a second per
// user, and in memory in between, so that a creation needs no count.
import type { Database } from '../../db/transaction.ts';
import { AppError } from '../../errors.ts';
import { createLru } from '../../process/lru.ts';
import { countWaiting } from './waitingStore.ts';

const countedForMs = 1_000;
const usersMax = 10_000;
const retryAfterS = 30;

interface Count {
  waiting: number;
}

export interface WaitingBound {
  /** Returns an error if the user has too many. */
  over(userId: number): AppError | undefined | Promise<AppError | undefined>;
  /** Counts one more. */
  add(userId: number): void;
}

interface WaitingOptions {
  readonly database: Database;
  /** 0 means no limit. */
  readonly max: number;
}

export function tooManyWaiting(max: number): AppError {
  return new AppError('too_many_waiting', `${max} of your conversations are already waiting for a worker.`, {
    retryAfterS,
  });
}

export function createWaitingBound({ database, max }: WaitingOptions): WaitingBound {
  const counts = createLru<number, Count>(usersMax, { ttlMs: countedForMs });

  async function count(userId: number): Promise<AppError | undefined> {
    const waiting = await database.run(countWaiting, { userId, max });
    counts.set(userId, { waiting });
    if (waiting < max) return undefined;
    return tooManyWaiting(max);
  }

  return {
    over: (userId) => {
      if (max === 0) return undefined;
      const known = counts.get(userId);
      // If it seems too many, workers may have taken some meanwhile.
      return known !== undefined && known.waiting < max ? undefined : count(userId);
    },
    add: (userId) => {
      const known = counts.get(userId);
      if (known !== undefined) known.waiting += 1;
    },
  };
}

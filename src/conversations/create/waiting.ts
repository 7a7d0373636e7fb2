// How many conversations of a user wait for a worker: counted in the database at most once a second for each user who
// creates, and by hand in between, so that a creation costs no count.
import { LRUCache } from 'lru-cache';
import type { Database } from '../../db/transaction.ts';
import { AppError } from '../../errors.ts';
import { countWaiting } from './waitingStore.ts';

const countedForMs = 1_000;
const usersMax = 10_000;
const retryAfterS = 30;

interface Count {
  waiting: number;
}

export interface WaitingBound {
  /** An error where the user has too many already. */
  over(userId: number): AppError | undefined | Promise<AppError | undefined>;
  /** One more waits. */
  add(userId: number): void;
}

interface WaitingOptions {
  readonly database: Database;
  /** 0: no bound. */
  readonly max: number;
}

export function tooManyWaiting(max: number): AppError {
  return new AppError('too_many_waiting', `${max} of your conversations are already waiting for a worker.`, {
    retryAfterS,
  });
}

export function createWaitingBound({ database, max }: WaitingOptions): WaitingBound {
  const counts = new LRUCache<number, Count>({ max: usersMax, ttl: countedForMs, ttlResolution: 0 });

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

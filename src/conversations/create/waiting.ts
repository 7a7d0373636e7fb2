// The limit of conversations that wait for a worker. It is checked in the transaction that adds one, after locking the
// user, so that it is exact however many processes add some at the same time.
import type { Queries, Steps } from '../../db/transaction.ts';
import { AppError } from '../../errors.ts';
import { lockUsers } from '../userLock.ts';
import { countWaitingOf, countWaitingSteps } from './waitingStore.ts';

const retryAfterS = 30;

export function tooManyWaiting(max: number): AppError {
  return new AppError('too_many_waiting', `${max} of your conversations are already waiting for a worker.`, {
    retryAfterS,
  });
}

export interface NewWaiting {
  readonly userId: number;
  /** How many conversations of the user may wait; 0 means no limit. */
  readonly waitingMax: number;
}

/** Whether no other conversation of the user may wait. If not, that stays so until the transaction ends. */
export function* areTooManyWaiting(q: Queries, { userId, waitingMax }: NewWaiting): Steps<boolean> {
  if (waitingMax === 0) return false;
  yield* lockUsers(q, [userId]);
  return (yield* countWaitingSteps(q, { userId, max: waitingMax })) >= waitingMax;
}

/** The indexes of those that may wait, each one counted for those after it. Only for PostgreSQL. */
export function* admitAll(q: Queries, calls: readonly NewWaiting[]): Steps<readonly number[]> {
  const all = calls.map((_, n) => n);
  const limited = calls.filter(({ waitingMax }) => waitingMax > 0);
  if (limited.length === 0) return all;
  const userIds = [...new Set(limited.map(({ userId }) => userId))];
  yield* lockUsers(q, userIds);
  const counts = yield* countWaitingOf(q, userIds, Math.max(...limited.map(({ waitingMax }) => waitingMax)));
  return all.filter((n) => {
    const { userId, waitingMax } = calls[n] as NewWaiting;
    const count = counts.get(userId) ?? 0;
    if (waitingMax > 0 && count >= waitingMax) return false;
    counts.set(userId, count + 1);
    return true;
  });
}

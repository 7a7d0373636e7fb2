// Limits concurrency, in total and per user. A limited number of others waits.
import { AppError } from '../errors.ts';

export interface GateBounds {
  readonly atOnceMax: number;
  readonly userAtOnceMax: number;
  readonly waitingMax: number;
  readonly userWaitingMax: number;
}

interface Waiting {
  readonly userId: number;
  readonly letIn: () => void;
}

/** Nobody reads this, because the connection is closed. */
export function gaveUp(): AppError {
  return new AppError('malformed_request', 'The connection was closed before the response.');
}

/** `busy` is the sentence for those who may not even wait. */
export function createGate(bounds: GateBounds, busy: string) {
  const { atOnceMax, userAtOnceMax, waitingMax, userWaitingMax } = bounds;
  const active: number[] = [];
  const waiting: Waiting[] = [];
  const countOf = (userIds: readonly number[], userId: number) =>
    userIds.filter((id) => id === userId).length;
  const hasRoom = (userId: number) => active.length < atOnceMax && countOf(active, userId) < userAtOnceMax;

  function letNextIn(): void {
    const next = waiting.findIndex(({ userId }) => hasRoom(userId));
    if (next >= 0) waiting.splice(next, 1)[0]?.letIn();
  }

  /** Returns a function that leaves, which has an effect once. */
  function take(userId: number): () => void {
    active.push(userId);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      active.splice(active.indexOf(userId), 1);
      letNextIn();
    };
  }

  function wait(userId: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.splice(waiting.indexOf(entry), 1);
        reject(gaveUp());
      };
      const entry: Waiting = {
        userId,
        letIn: () => {
          signal.removeEventListener('abort', giveUp);
          resolve(take(userId));
        },
      };
      waiting.push(entry);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Waits for a free slot. Throws if too many wait already, or the caller gives up. */
  async function enter(userId: number, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw gaveUp();
    if (hasRoom(userId)) return take(userId);
    const userIds = waiting.map((entry) => entry.userId);
    if (waiting.length >= waitingMax || countOf(userIds, userId) >= userWaitingMax)
      throw new AppError('overloaded', busy, { retryAfterS: 1 });
    return wait(userId, signal);
  }

  return { enter };
}

// Writes of one user wait for each other here. Each is computed from what the one before it has stored; without a queue
// they would all read the same version, and all but one would have to begin anew.
import { tooLate } from '../db/outcomes.ts';
import { AppError } from '../errors.ts';

/** Writes of one user that may wait in this process; above it callers are told to come back. */
export const writesWaitingMax = 128;

interface Waiting {
  readonly begin: () => void;
  readonly timer: NodeJS.Timeout;
}

export interface WriteQueue {
  /**
   * Runs `work` once every write of the same user that came before has ended. Throws `overloaded` where too many wait,
   * or where its turn does not come before the deadline (in terms of `performance.now()`); `work` is not run then.
   */
  run<Out>(userId: number, deadline: number, work: () => Promise<Out>): Promise<Out>;
}

export function createWriteQueue(): WriteQueue {
  /** Those who wait, for each user who has a write in progress. */
  const lines = new Map<number, Waiting[]>();

  function wait(line: Waiting[], deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => {
          line.splice(line.indexOf(entry), 1);
          reject(tooLate());
        },
        Math.max(0, deadline - performance.now()),
      );
      const entry: Waiting = { begin: resolve, timer };
      line.push(entry);
    });
  }

  function passOn(userId: number, line: Waiting[]): void {
    const next = line.shift();
    if (next === undefined) {
      lines.delete(userId);
      return;
    }
    clearTimeout(next.timer);
    next.begin();
  }

  async function run<Out>(userId: number, deadline: number, work: () => Promise<Out>): Promise<Out> {
    let line = lines.get(userId);
    if (line === undefined) {
      line = [];
      lines.set(userId, line);
    } else {
      if (line.length >= writesWaitingMax)
        throw new AppError('overloaded', 'Too many writes to these settings are waiting; try again.', {
          retryAfterS: 1,
        });
      await wait(line, deadline);
    }
    try {
      return await work();
    } finally {
      passOn(userId, line);
    }
  }

  return { run };
}

// Queues the settings writes of each user. Without it, concurrent writes would read the same version, and all but one
// would have to start over.
import { tooLate } from '../db/outcomes.ts';
import { AppError } from '../errors.ts';

/** How many writes of one user may wait in this process; further ones get `overloaded`. */
export const writesWaitingMax = 128;

interface Waiting {
  readonly begin: () => void;
  readonly timer: NodeJS.Timeout;
}

export interface WriteQueue {
  /**
   * Runs `work` after all earlier writes of the same user. Throws `overloaded` without running it if too many wait, or
   * if its turn does not come before the deadline (in terms of `performance.now()`).
   */
  run<Out>(userId: number, deadline: number, work: () => Promise<Out>): Promise<Out>;
}

export function createWriteQueue(): WriteQueue {
  /** The waiting writes of each user who has one in progress. */
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

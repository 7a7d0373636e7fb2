// Keeps the lease of a run, and says when it may no longer go on: timed on a clock that nobody sets, from before a
// renewal was sent.

import { type Run, renewRun } from '../conversations/run/store.ts';
import type { Database } from '../db/transaction.ts';
import type { Clock } from '../process/clock.ts';
import { repeatable } from '../process/repeat.ts';

/**
 * Why a run must end: its user stopped it, it lost its lease, the process stops and leaves it to another, or nobody
 * caught an error of it.
 */
export type EndCause = 'stop' | 'lost' | 'shutdown' | 'crash';

export interface LeaseTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Without a renewal for so long a run ends itself. Shorter than a lease by what killing an agent takes. */
  readonly giveUpMs: number;
}

interface LeaseOptions {
  readonly database: Database;
  readonly run: Run;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  /** When the claim was sent, on the steady clock. */
  readonly since: number;
  readonly onEnd: (cause: EndCause) => void;
  readonly onBackgroundError: (error: Error) => void;
}

export interface Lease {
  /** False where it may have ended, and then the run is told so: also before a timer could notice after a sleep. */
  isHeld(): boolean;
  stop(): void;
}

/** Renews until it is stopped. */
export function keepLease(options: LeaseOptions): Lease {
  const { database, run, times, clock, since, onEnd, onBackgroundError } = options;
  const { leaseMs, renewMs, giveUpMs } = times;
  let renewedAt = since;
  async function renew(): Promise<void> {
    const sentAt = clock.steady();
    const outcome = await database.run(renewRun, { ...run, leaseMs });
    if (outcome === 'kept') renewedAt = sentAt;
    else onEnd(outcome);
  }
  // One at a time: a database that is slow is not helped by more of them.
  const { run: renewOnce } = repeatable(renew, onBackgroundError);
  const renewals = clock.every(renewMs, () => void renewOnce());
  function isHeld(): boolean {
    if (clock.steady() - renewedAt <= giveUpMs) return true;
    onEnd('lost');
    return false;
  }
  const watch = clock.every(renewMs / 4, isHeld);
  return {
    isHeld,
    stop: () => {
      renewals.stop();
      watch.stop();
    },
  };
}

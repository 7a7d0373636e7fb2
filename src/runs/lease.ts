// Keeps the lease of a run, and says when it may no longer go on: timed on a clock that nobody sets, from before a
// renewal was sent.

import { type Run, renewRun } from '../conversations/run/store.ts';
import type { Database } from '../db/transaction.ts';
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
  /** When the claim was sent. */
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
export function keepLease({ database, run, times, since, onEnd, onBackgroundError }: LeaseOptions): Lease {
  const { leaseMs, renewMs, giveUpMs } = times;
  let renewedAt = since;
  async function renew(): Promise<void> {
    const sentAt = performance.now();
    const outcome = await database.run(renewRun, { ...run, leaseMs });
    if (outcome === 'kept') renewedAt = sentAt;
    else onEnd(outcome);
  }
  // One at a time: a database that is slow is not helped by more of them.
  const { run: renewOnce } = repeatable(renew, onBackgroundError);
  const renewals = setInterval(() => void renewOnce(), renewMs);
  function isHeld(): boolean {
    if (performance.now() - renewedAt <= giveUpMs) return true;
    onEnd('lost');
    return false;
  }
  const watch = setInterval(isHeld, renewMs / 4);
  return {
    isHeld,
    stop: () => {
      clearInterval(renewals);
      clearInterval(watch);
    },
  };
}

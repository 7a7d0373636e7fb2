// Renews the lease of a run and tells when the run must end. It uses a monotonic clock and counts from the moment
// before a renewal was sent.
import type { Run } from '../conversations/run/records.ts';
import { renewRun } from '../conversations/run/store.ts';
import type { Database } from '../db/transaction.ts';
import type { Clock } from '../process/clock.ts';
import { repeatable } from '../process/repeat.ts';

/**
 * Why a run must end: its user stopped it, it lost its lease, the process shuts down, or it caused an uncaught error.
 */
export type EndCause = 'stop' | 'lost' | 'shutdown' | 'crash';

export interface LeaseTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
  /** A run ends itself after this time without a renewal. The rest of the lease is left for killing the agent. */
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
  /** Returns false and ends the run if the lease may be over, even if no timer has fired yet after a sleep. */
  isHeld(): boolean;
  stop(): void;
}

/** Renews the lease until `stop` is called. */
export function keepLease(options: LeaseOptions): Lease {
  const { database, run, times, clock, since, onEnd, onBackgroundError } = options;
  const { leaseMs, renewMs, giveUpMs } = times;
  let renewedAt = since;
  async function renew(): Promise<void> {
    const sentAt = clock.steady();
    const outcome = await database.run(renewRun, { ...run, leaseMs });
    // A run that its user has stopped keeps its lease until it has ended.
    if (outcome !== 'lost') renewedAt = sentAt;
    if (outcome !== 'kept') onEnd(outcome);
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

// Sends pending deliveries in every process, each by one process at a time. Nothing that a restart would need is only
// in memory.
import { type Clock, systemClock, type Timer } from '../process/clock.ts';
import { repeat } from '../process/repeat.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { kib } from '../validation/schema.ts';
import { type AttemptOptions, type AttemptOutcome, attemptDelivery } from './attempt.ts';
import { dropDeliveries, purgeFailed } from './deliveryStore.ts';
import {
  adjustDue,
  type ClaimedDelivery,
  claimDeliveries,
  finishDelivery,
  listDue,
  recordFailedAttempt,
} from './outboxStore.ts';
import { atOnceMax, shareSlots } from './slots.ts';
import { traceDelivery } from './traceDelivery.ts';

/** For one attempt. */
export const deliveryTimeoutMs = 15_000;
export const deliveryResponseBytesMax = 64 * kib;

const dueListedMax = 100;
const purgeMax = 1_000;
const dropMax = 1_000;
const adjustMax = 1_000;

const secondMs = 1_000;
const hourMs = 3_600 * secondMs;
const dayMs = 24 * hourMs;

export interface DeliveryTimes {
  /** How often it polls without a notification. */
  readonly pollMs: number;
  /** Notifications within this time cause one query. */
  readonly gatherMs: number;
  /** At least one and a half times the length of an attempt. */
  readonly leaseMs: number;
  readonly firstRetryMs: number;
  readonly retryMaxMs: number;
  readonly giveUpAfterMs: number;
  readonly failedKeptMs: number;
  readonly purgeEveryMs: number;
  /** How long closing waits for attempts in progress. */
  readonly closeGraceMs: number;
}

const defaultTimes: DeliveryTimes = {
  pollMs: secondMs,
  gatherMs: 50,
  leaseMs: 60 * secondMs,
  firstRetryMs: 5 * secondMs,
  retryMaxMs: 6 * hourMs,
  giveUpAfterMs: 3 * dayMs,
  failedKeptMs: 30 * dayMs,
  purgeEveryMs: hourMs,
  closeGraceMs: 3 * secondMs,
};

/** Retry delays vary by this share, so that deliveries which failed together are spread. */
const jitter = 0.2;

export function retryDelayMs(
  attempts: number,
  { firstRetryMs, retryMaxMs }: Pick<DeliveryTimes, 'firstRetryMs' | 'retryMaxMs'>,
  random = Math.random,
): number {
  const delayMs = Math.min(firstRetryMs * 2 ** (attempts - 1), retryMaxMs);
  return delayMs * (1 - jitter + 2 * jitter * random());
}

/** After this many attempts the delay no longer grows. */
const delaysListed = 32;

/** The longest possible delay after each number of attempts. */
export function longestDelaysMs(
  times: Pick<DeliveryTimes, 'firstRetryMs' | 'retryMaxMs' | 'leaseMs'>,
): number[] {
  const longest = (attempts: number) =>
    Math.max(
      times.leaseMs,
      retryDelayMs(attempts, times, () => 1),
    );
  return Array.from({ length: delaysListed }, (_, i) => (i === 0 ? 0 : Math.ceil(longest(i))));
}

interface DeliveriesOptions extends Omit<AttemptOptions, 'now'> {
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: Partial<DeliveryTimes>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly tracing?: Tracing | undefined;
}

export function createDeliveries(given: DeliveriesOptions) {
  const { clock = systemClock, random = Math.random, ...options } = given;
  const { database, onBackgroundError } = options;
  const times = { ...defaultTimes, ...given.times };
  const inFlight = new Map<Promise<void>, ClaimedDelivery>();
  const aborted = new AbortController();
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let closed = false;
  let failing = false;
  /** Whether the clock may have been set back, possibly before this process started. */
  let mayBeLate = true;
  let gathering: Timer | undefined;

  database.onNotification(wakeSoon);
  const poll = clock.every(times.pollMs, wake);
  const purges = repeat(purge, times.purgeEveryMs, onBackgroundError, clock);

  async function purge(): Promise<void> {
    while ((await database.run(purgeFailed, { keptMs: times.failedKeptMs, max: purgeMax })) === purgeMax);
  }

  /** Repairs due times after the clock was set back. */
  async function adjust(): Promise<void> {
    const adjustment = { delaysMsMax: longestDelaysMs(times), leaseMs: times.leaseMs, max: adjustMax };
    while ((await database.run(adjustDue, adjustment)) === adjustMax);
    mayBeLate = false;
  }

  async function look(): Promise<void> {
    if (mayBeLate) await adjust();
    if (inFlight.size >= atOnceMax) return;
    const due = await database.run(listDue, dueListedMax);
    const webhooks = shareSlots(due, [...inFlight.values()]);
    if (webhooks.length > 0 && !closed) {
      const askedAt = clock.steady();
      const claimed = await database.run(claimDeliveries, { webhooks, leaseMs: times.leaseMs });
      for (const delivery of claimed) start(delivery, askedAt);
    }
    const gone = due.find(({ user_id }) => user_id === null);
    if (gone !== undefined && !closed) await clearAway(gone.webhook_id);
  }

  /** Deletes some deliveries of a deleted webhook. The rest follows at once. */
  async function clearAway(webhookId: string): Promise<void> {
    await database.run(dropDeliveries, { webhookId, max: dropMax });
    lookAgain = true;
  }

  /** Queries for due deliveries, now or right after the query in progress. */
  function wake(): void {
    if (closed) return;
    lookAgain = looking !== undefined;
    looking ??= look()
      .then(() => {
        failing = false;
      })
      .catch(report)
      .finally(() => {
        looking = undefined;
        if (lookAgain) wake();
      });
  }

  function wakeSoon(): void {
    if (closed || gathering !== undefined) return;
    gathering = clock.after(times.gatherMs, () => {
      gathering = undefined;
      wake();
    });
  }

  /** A database that stays unavailable is reported once. */
  function report(error: Error): void {
    if (!failing) onBackgroundError(error);
    failing = true;
  }

  function start(delivery: ClaimedDelivery, claimedAt: number): void {
    const sending: Promise<void> = send(delivery, claimedAt)
      .catch(onBackgroundError)
      .finally(() => {
        inFlight.delete(sending);
        wake();
      });
    inFlight.set(sending, delivery);
  }

  async function send(delivery: ClaimedDelivery, claimedAt: number): Promise<void> {
    // It could not finish within the lease, so it is left to the next claim.
    if (clock.steady() - claimedAt > times.leaseMs / 2) return;
    await record(delivery, await attempt(delivery));
  }

  function attempt(delivery: ClaimedDelivery): Promise<AttemptOutcome> {
    const work = () => attemptDelivery({ ...options, now: clock.now }, delivery, aborted.signal);
    return traceDelivery(options.tracing, delivery, work);
  }

  async function record(delivery: ClaimedDelivery, outcome: AttemptOutcome): Promise<void> {
    const { id, attempts, leased_until } = delivery;
    if (outcome.outcome !== 'failed') return database.run(finishDelivery, id);
    const { status, error, final } = outcome;
    await database.run(recordFailedAttempt, {
      id,
      leasedUntil: leased_until,
      status,
      error,
      retryAfterMs: final ? null : retryDelayMs(attempts, times, random),
      giveUpAfterMs: times.giveUpAfterMs,
    });
  }

  /** Claims nothing more, waits a while for attempts in progress, then aborts them. */
  async function close(): Promise<void> {
    closed = true;
    poll.stop();
    gathering?.stop();
    await purges.stop();
    await looking;
    const late = clock.after(times.closeGraceMs, () => aborted.abort());
    await Promise.all(inFlight.keys());
    late.stop();
  }

  return {
    wake,
    /** Must be called after the database's clock has jumped. */
    onClockSet: () => {
      mayBeLate = true;
      wake();
    },
    close,
  };
}

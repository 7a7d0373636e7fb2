// Sends what waits in the outbox, in every process, each message by one at a time. Nothing is kept in memory that a
// restart would need.
import { repeat } from '../process/repeat.ts';
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

/** Of one attempt. */
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
  /** How often it looks without being woken. */
  readonly pollMs: number;
  /** Rings of so long are answered with one look. */
  readonly gatherMs: number;
  /** Longer than an attempt and half of itself. */
  readonly leaseMs: number;
  readonly firstRetryMs: number;
  readonly retryMaxMs: number;
  readonly giveUpAfterMs: number;
  readonly failedKeptMs: number;
  readonly purgeEveryMs: number;
  /** How long an end waits for attempts under way. */
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

/** Retries are spread by this part of their delay either way, so that messages which failed together do not stay so. */
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
  readonly now?: () => number;
}

export function createDeliveries({ times: given, now = Date.now, ...options }: DeliveriesOptions) {
  const { database, onBackgroundError } = options;
  const times = { ...defaultTimes, ...given };
  const inFlight = new Map<Promise<void>, ClaimedDelivery>();
  const aborted = new AbortController();
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let closed = false;
  let failing = false;
  /** Whether the clock may have been set back, possibly before this process started. */
  let mayBeLate = true;
  let gathering: NodeJS.Timeout | undefined;

  database.onNotification(wakeSoon);
  const pollTimer = setInterval(wake, times.pollMs);
  const purges = repeat(purge, times.purgeEveryMs, onBackgroundError);
  pollTimer.unref();

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
      const askedAt = performance.now();
      const claimed = await database.run(claimDeliveries, { webhooks, leaseMs: times.leaseMs });
      for (const delivery of claimed) start(delivery, askedAt);
    }
    const gone = due.find(({ user_id }) => user_id === null);
    if (gone !== undefined && !closed) await clearAway(gone.webhook_id);
  }

  /** Drops some of what a deletion left over. There may be more: the next look comes at once. */
  async function clearAway(webhookId: string): Promise<void> {
    await database.run(dropDeliveries, { webhookId, max: dropMax });
    lookAgain = true;
  }

  /** Looks for what is due, now or right after the look that is under way. */
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
    gathering = setTimeout(() => {
      gathering = undefined;
      wake();
    }, times.gatherMs);
  }

  /** A database that is away for long is told of once. */
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
    // Too late to be done within the lease: it is left to the next claim.
    if (performance.now() - claimedAt > times.leaseMs / 2) return;
    await record(delivery, await attemptDelivery({ ...options, now }, delivery, aborted.signal));
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
      retryAfterMs: final ? null : retryDelayMs(attempts, times),
      giveUpAfterMs: times.giveUpAfterMs,
    });
  }

  /** Claims nothing more, lets attempts under way come to their end for a while, then breaks them off. */
  async function close(): Promise<void> {
    closed = true;
    clearInterval(pollTimer);
    clearTimeout(gathering);
    await purges.stop();
    await looking;
    const late = setTimeout(() => aborted.abort(), times.closeGraceMs);
    await Promise.all(inFlight.keys());
    clearTimeout(late);
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

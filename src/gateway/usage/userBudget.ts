// The budget of a user for the model requests of one run. Each request reserves its estimated cost in the database before
// it is sent, and more as its answer grows, so that runs of the same user in all processes keep within the budget together.
// A user without a budget causes one read per turn and nothing else.
import { setTimeout as wait } from 'node:timers/promises';
import { type BudgetLimits, hasLimit, limitsOf } from '../../budgets/limits.ts';
import { type BudgetPeriod, periodsAt } from '../../budgets/period.ts';
import {
  findBudget,
  type Reservation,
  type ReservationOutcome,
  raiseReservation,
  reserveBudget,
} from '../../budgets/store.ts';
import type { Database } from '../../db/transaction.ts';
import { nanosPerDollar } from '../../models/money.ts';
import { Refusal } from '../refusal.ts';

interface UserBudgetOptions {
  readonly database: Database;
  readonly conversation: { readonly key: number; readonly user_id: number };
  readonly runId: string;
  /** The budget of users who have none of their own. */
  readonly ofAll: BudgetLimits;
  readonly nextId: () => string;
  /** Called when a request is refused because the budget is used up. */
  readonly onReached: (period: BudgetPeriod, sentence: string) => void;
  /** Stores the cost of ended requests, and releases their reservations. Settles when that was tried. */
  readonly store: () => Promise<void>;
  readonly onBackgroundError: (error: Error) => void;
  /** Waits for what ended requests of other runs release. Another one, for tests. */
  readonly waitForOthers?: () => Promise<void>;
}

export interface BudgetReservation {
  /** Whether the answer may go on after this cost. A promise if more must be reserved for it. Never rejects. */
  covers(costNanos: number): boolean | Promise<boolean>;
  /** Call this after the cost was recorded, or if nothing was used. */
  release(): void;
}

export interface UserBudget {
  /** The budget may have changed. */
  beginTurn(): void;
  /** Undefined if the user has no budget. Rejects with Refusal if the request must not be sent. */
  reserve(costNanos: number): Promise<BudgetReservation | undefined>;
  /** The reservations to release when the cost is stored, since the last call. */
  takeReleasable(): string[];
}

/** An answer that exceeds its reservation gets this share of its cost on top, so that it need not ask for every piece. */
const raisedShare = 0.25;

/** Requests of other runs that have just ended usually release what they did not spend within this time. */
const releaseMs = 250;

const dollars = (nanos: number) => `$${(nanos / nanosPerDollar).toFixed(2)}`;
const heldSentence = 'The model requests in progress may use up your budget. Try again when they have ended.';

function reachedSentence(outcome: ReservationOutcome & { outcome: 'reached' }, ofAll: BudgetLimits): string {
  const { period, spent } = outcome;
  const used = Number(period === 'day' ? spent.day_nanos : spent.month_nanos);
  const limit = limitsOf(spent, ofAll)[period] ?? 0;
  const when = new Date(periodsAt(Number(spent.at))[period].endsAt).toISOString().slice(0, 10);
  const which = period === 'day' ? 'today' : 'this month';
  return `Your budget for models is used up for ${which}: ${dollars(used)} of ${dollars(limit)}. The next one begins on ${when} at 00:00 UTC; an administrator can raise it.`;
}

export function createUserBudget(options: UserBudgetOptions): UserBudget {
  const { database, conversation, runId, ofAll, nextId, onReached, store, onBackgroundError } = options;
  const { key: conversationKey, user_id: userId } = conversation;
  const { waitForOthers = () => wait(releaseMs) } = options;
  let limits: BudgetLimits | undefined;
  let releasable: string[] = [];

  async function load(): Promise<BudgetLimits> {
    const own = await database.run(findBudget, userId);
    return own === undefined ? ofAll : limitsOf(own, ofAll);
  }

  function release(id: string): void {
    releasable.push(id);
    void store();
  }

  /** Settles when requests that have just ended hold nothing any more. */
  async function untilReleased(): Promise<void> {
    await Promise.all([store(), waitForOthers()]);
    while (releasable.length > 0) await store();
  }

  /** If the database cannot be asked, the answer goes on, and the next piece asks again. */
  function createReservation(id: string, costNanos: number): BudgetReservation {
    let heldNanos = costNanos;
    async function raise(leastNanos: number): Promise<boolean> {
      const mostNanos = Math.ceil(leastNanos * (1 + raisedShare));
      try {
        const input = { id, userId, ofAll, leastNanos, mostNanos };
        let raised = await database.run(raiseReservation, input);
        if (raised === undefined) {
          await untilReleased();
          raised = await database.run(raiseReservation, input);
        }
        heldNanos = raised ?? heldNanos;
        return raised !== undefined;
      } catch (error) {
        onBackgroundError(error as Error);
        return true;
      }
    }
    return { covers: (soFar) => soFar <= heldNanos || raise(soFar), release: () => release(id) };
  }

  async function reserveOrWait(input: Reservation): Promise<ReservationOutcome> {
    try {
      const outcome = await database.run(reserveBudget, input);
      if (outcome.outcome !== 'held') return outcome;
      await untilReleased();
      return await database.run(reserveBudget, input);
    } catch (error) {
      // It may have been stored, and would block others until the run ends.
      release(input.id);
      throw error;
    }
  }

  async function reserveNow(costNanos: number): Promise<BudgetReservation | undefined> {
    limits ??= await load();
    if (!hasLimit(limits)) return undefined;
    // Otherwise the last answer would count as a request that is still open.
    while (releasable.length > 0) await store();
    const id = nextId();
    const input = { id, userId, conversationKey, runId, costNanos, ofAll };
    const outcome = await reserveOrWait(input);
    if (outcome.outcome === 'held') throw new Refusal(heldSentence);
    if (outcome.outcome === 'reached') {
      onReached(outcome.period, reachedSentence(outcome, ofAll));
      throw new Refusal('The budget of the user is used up. Stop here.', { silent: true });
    }
    return createReservation(id, costNanos);
  }

  return {
    beginTurn: () => {
      limits = undefined;
    },
    reserve: async (costNanos) => {
      try {
        return await reserveNow(costNanos);
      } catch (error) {
        if (error instanceof Refusal) throw error;
        throw new Refusal('The budget cannot be checked now; try again.', { status: 503 });
      }
    },
    takeReleasable: () => {
      const taken = releasable;
      releasable = [];
      return taken;
    },
  };
}

// Counts the model usage of a conversation and enforces its limits.
import { usageMax } from '../../conversations/usage/shape.ts';
import { noTokens, type Tokens } from '../protocols/protocol.ts';
import type { Price } from './prices.ts';

/**
 * Side requests, such as one for a title, that do not count as iterations. The number is small, because any agent may
 * mark its requests so.
 */
const sideRequestsPerTurnMax = 4;

export type ModelLimit = 'max_iterations' | 'max_budget' | 'user_budget';

export interface Limits {
  /** Model requests per message of the user; null means no limit. */
  readonly requestsMax: number | null;
  /** The cost of the conversation; null means no limit. */
  readonly costNanosMax: number | null;
}

/** The usage since it was last taken. */
export interface Usage extends Tokens {
  readonly requests: number;
  readonly costNanos: number;
}

export const noUsage: Usage = { ...noTokens, requests: 0, costNanos: 0 };

const sum = (a: number, b: number) => Math.min(a + b, usageMax);

export function add(a: Usage, b: Usage): Usage {
  return {
    requests: sum(a.requests, b.requests),
    input: sum(a.input, b.input),
    output: sum(a.output, b.output),
    cacheRead: sum(a.cacheRead, b.cacheRead),
    cacheWrite: sum(a.cacheWrite, b.cacheWrite),
    costNanos: sum(a.costNanos, b.costNanos),
  };
}

interface MeterOptions {
  readonly limits: Limits;
  /** The cost of the conversation before this run. */
  readonly spentNanos: number;
  /** Called once for each limit that is reached. */
  readonly onLimit: (limit: ModelLimit) => void;
}

/** A request that was admitted. It reserves part of the budget until it is recorded or settled. */
export interface Admission {
  /** Whether an answer of this cost exceeds the budget and what was reserved for it. */
  isTooMuch(costNanos: number): boolean;
  record(tokens: Tokens, price: Price): void;
  /** Releases the reservation. Without a record, nothing was used. */
  settle(): void;
}

/** Why a request is denied. `budget_held`: open requests may use up the rest of the budget. */
export type Denial = Exclude<ModelLimit, 'user_budget'> | 'budget_held';

interface AdmissionRequest {
  /** The agent marks it as not part of its work. */
  readonly isSideRequest: boolean;
  /** The estimated cost. */
  readonly costNanos: number;
}

export interface Meter {
  /** Starts counting requests for a message of the user, against these limits. */
  beginTurn(limits?: Limits): void;
  /** Must be called before each request. If no other is open, one may exceed the rest of the budget. */
  admit(request: AdmissionRequest): Admission | Denial;
  /** Returns what was counted since the last call. */
  take(): Usage;
  /** Everything that was counted, and the tokens of the latest answer. */
  total(): Usage & { readonly latest: Tokens };
}

/** What is reserved for an open request, and what it has cost so far. */
interface Reservation {
  readonly nanos: number;
  soFar: number;
}

export function createMeter({ limits: first, spentNanos, onLimit }: MeterOptions): Meter {
  const reservations = new Set<Reservation>();
  let limits = first;
  let requests = 0;
  let sideRequests = 0;
  let spent = spentNanos;
  let pending = noUsage;
  let taken = noUsage;
  let latest = noTokens;
  let reportedLimit: ModelLimit | undefined;

  const sumOf = (of: (reservation: Reservation) => number) =>
    [...reservations].reduce((sum, reservation) => sum + of(reservation), 0);

  function limitMet(counts: boolean): Exclude<ModelLimit, 'user_budget'> | undefined {
    if (limits.costNanosMax !== null && spent >= limits.costNanosMax) return 'max_budget';
    if (counts && limits.requestsMax !== null && requests >= limits.requestsMax) return 'max_iterations';
    return undefined;
  }

  function isReserved(costNanos: number): boolean {
    if (limits.costNanosMax === null || reservations.size === 0) return false;
    const reserved = sumOf(({ nanos, soFar }) => Math.max(nanos, soFar));
    return spent + reserved + costNanos > limits.costNanosMax;
  }

  function open(costNanos: number): Admission {
    const reservation: Reservation = { nanos: costNanos, soFar: 0 };
    reservations.add(reservation);
    return {
      isTooMuch: (soFar) => {
        reservation.soFar = soFar;
        const { costNanosMax } = limits;
        return costNanosMax !== null && spent + sumOf((one) => one.soFar) > costNanosMax + costNanos;
      },
      record: (tokens, price) => {
        reservations.delete(reservation);
        const cost = price.costOf(tokens);
        latest = tokens;
        spent = sum(spent, cost);
        pending = add(pending, { ...tokens, requests: 0, costNanos: cost });
      },
      settle: () => void reservations.delete(reservation),
    };
  }

  return {
    beginTurn: (now = limits) => {
      limits = now;
      requests = 0;
      sideRequests = 0;
      reportedLimit = undefined;
    },
    admit: ({ isSideRequest, costNanos }) => {
      const counts = !isSideRequest || sideRequests >= sideRequestsPerTurnMax;
      const limit = limitMet(counts);
      if (limit !== undefined) {
        if (reportedLimit !== limit) onLimit(limit);
        reportedLimit = limit;
        return limit;
      }
      if (isReserved(costNanos)) return 'budget_held';
      if (counts) requests += 1;
      else sideRequests += 1;
      pending = { ...pending, requests: pending.requests + 1 };
      return open(costNanos);
    },
    take: () => {
      const counted = pending;
      taken = add(taken, counted);
      pending = noUsage;
      return counted;
    },
    total: () => ({ ...add(taken, pending), latest }),
  };
}

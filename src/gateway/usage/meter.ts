// Counts what a conversation takes of its model, and says when it is enough.
import { usageMax } from '../../conversations/usage/shape.ts';
import { noTokens, type Tokens } from '../protocols/protocol.ts';
import type { Price } from './prices.ts';

/**
 * Requests beside the work, such as for a title, that are not counted for one message of the user. Any agent may claim
 * that a request is one, so that there are few.
 */
const asidesPerTurnMax = 4;

export type ModelLimit = 'max_iterations' | 'max_budget';

export interface Limits {
  /** Model requests for one message of the user; null: any number. */
  readonly requestsMax: number | null;
  /** Of the conversation; null: any cost. */
  readonly costNanosMax: number | null;
}

/** What was taken since it was last asked. */
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
  /** What the conversation has cost before. */
  readonly spentNanos: number;
  /** Called once for each limit that is met. */
  readonly onLimit: (limit: ModelLimit) => void;
}

/** A request that may be made. It holds money back until it is settled, by a record or without. */
export interface Admission {
  /** Whether an answer that has cost so much is more than may be spent, beyond what was held back for it. */
  isTooMuch(costNanos: number): boolean;
  record(tokens: Tokens, price: Price): void;
  /** Nothing was taken, unless it was recorded before. */
  settle(): void;
}

/** Why a request may not be made; `budget_held`: those under way may take what is left of the budget. */
export type Denial = ModelLimit | 'budget_held';

interface Admitting {
  /** The agent says that it is beside the work. */
  readonly aside: boolean;
  /** What it may cost. */
  readonly costNanos: number;
}

export interface Meter {
  /** A message of the user: requests are counted from here, against these limits. */
  beginTurn(limits?: Limits): void;
  /** Before each request. Where nothing is under way, one may pass the budget that is left. */
  admit(request: Admitting): Admission | Denial;
  /** What was counted since the last time. */
  take(): Usage;
  /** Everything that was counted, and the tokens of the latest answer. */
  total(): Usage & { readonly latest: Tokens };
}

/** What is held back for a request under way, and what it has cost so far. */
interface Held {
  readonly nanos: number;
  soFar: number;
}

export function createMeter({ limits: first, spentNanos, onLimit }: MeterOptions): Meter {
  const underWay = new Set<Held>();
  let limits = first;
  let requests = 0;
  let asides = 0;
  let spent = spentNanos;
  let pending = noUsage;
  let taken = noUsage;
  let latest = noTokens;
  let told: ModelLimit | undefined;

  const sumOf = (of: (held: Held) => number) => [...underWay].reduce((all, held) => all + of(held), 0);

  function limitMet(counts: boolean): ModelLimit | undefined {
    if (limits.costNanosMax !== null && spent >= limits.costNanosMax) return 'max_budget';
    if (counts && limits.requestsMax !== null && requests >= limits.requestsMax) return 'max_iterations';
    return undefined;
  }

  function isHeld(costNanos: number): boolean {
    if (limits.costNanosMax === null || underWay.size === 0) return false;
    const held = sumOf(({ nanos, soFar }) => Math.max(nanos, soFar));
    return spent + held + costNanos > limits.costNanosMax;
  }

  function open(costNanos: number): Admission {
    const held: Held = { nanos: costNanos, soFar: 0 };
    underWay.add(held);
    return {
      isTooMuch: (soFar) => {
        held.soFar = soFar;
        const { costNanosMax } = limits;
        return costNanosMax !== null && spent + sumOf((one) => one.soFar) > costNanosMax + costNanos;
      },
      record: (tokens, price) => {
        underWay.delete(held);
        const cost = price.costOf(tokens);
        latest = tokens;
        spent = sum(spent, cost);
        pending = add(pending, { ...tokens, requests: 0, costNanos: cost });
      },
      settle: () => void underWay.delete(held),
    };
  }

  return {
    beginTurn: (now = limits) => {
      limits = now;
      requests = 0;
      asides = 0;
      told = undefined;
    },
    admit: ({ aside, costNanos }) => {
      const counts = !aside || asides >= asidesPerTurnMax;
      const limit = limitMet(counts);
      if (limit !== undefined) {
        if (told !== limit) onLimit(limit);
        told = limit;
        return limit;
      }
      if (isHeld(costNanos)) return 'budget_held';
      if (counts) requests += 1;
      else asides += 1;
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

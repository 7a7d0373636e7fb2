// Counts what a conversation takes of its model, and says when it is enough.
import { usageMax } from '../usage/shape.ts';
import type { Price } from './prices.ts';
import { noTokens, type Tokens } from './protocols/protocol.ts';

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

export interface Meter {
  /** A message of the user: requests are counted from here, against these limits. */
  beginTurn(limits?: Limits): void;
  /**
   * Before each request; `aside` where the agent says that it is beside the work. The limit that forbids it, where one
   * does.
   */
  admit(request?: { readonly aside: boolean }): ModelLimit | undefined;
  record(tokens: Tokens, price: Price): void;
  /** What was counted since the last time. */
  take(): Usage;
}

export function createMeter({ limits: first, spentNanos, onLimit }: MeterOptions): Meter {
  let limits = first;
  let requests = 0;
  let asides = 0;
  let spent = spentNanos;
  let pending = noUsage;
  let told: ModelLimit | undefined;

  function limitMet(counts: boolean): ModelLimit | undefined {
    if (limits.costNanosMax !== null && spent >= limits.costNanosMax) return 'max_budget';
    if (counts && limits.requestsMax !== null && requests >= limits.requestsMax) return 'max_iterations';
    return undefined;
  }

  return {
    beginTurn: (now = limits) => {
      limits = now;
      requests = 0;
      asides = 0;
      told = undefined;
    },
    admit: ({ aside } = { aside: false }) => {
      const counts = !aside || asides >= asidesPerTurnMax;
      const limit = limitMet(counts);
      if (limit !== undefined) {
        if (told !== limit) onLimit(limit);
        told = limit;
        return limit;
      }
      if (counts) requests += 1;
      else asides += 1;
      pending = { ...pending, requests: pending.requests + 1 };
      return undefined;
    },
    record: (tokens, price) => {
      const costNanos = price.costOf(tokens);
      spent = sum(spent, costNanos);
      pending = add(pending, { ...tokens, requests: 0, costNanos });
    },
    take: () => {
      const taken = pending;
      pending = noUsage;
      return taken;
    },
  };
}

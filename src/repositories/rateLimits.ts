// The rate limits of Git providers: when one is reached, nothing is asked with that access token until it is over.
import type { Clock } from '../process/clock.ts';
import { createLru } from '../process/lru.ts';

const tokensMax = 10_000;
/** For a provider that does not say how long its limit lasts. */
const usualWaitMs = 60_000;
const waitMsMin = 1_000;
/** Windows of providers last at most an hour. */
const waitMsMax = 3_600_000;

interface LimitedResponse {
  readonly status: number;
  readonly headers: Headers;
}

/** GitHub also answers 403, which it distinguishes from a missing permission by these headers. */
export function isRateLimited({ status, headers }: LimitedResponse): boolean {
  if (status === 429) return true;
  return status === 403 && (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0');
}

/** Seconds, or a date. */
function retryAfterMs(text: string | null, now: number): number {
  if (text === null) return Number.NaN;
  return /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
}

/** The time in seconds since 1970: of GitHub with `x-`, of GitLab without it. */
function resetMs(headers: Headers, now: number): number {
  const text = headers.get('x-ratelimit-reset') ?? headers.get('ratelimit-reset') ?? '';
  return /^\d{1,12}$/.test(text) ? Number(text) * 1_000 - now : Number.NaN;
}

/** How long the limit lasts, as far as it can be believed. */
export function waitMsOf(headers: Headers, now: number): number {
  const named = [retryAfterMs(headers.get('retry-after'), now), resetMs(headers, now)];
  const waitMs = named.find((ms) => !Number.isNaN(ms)) ?? usualWaitMs;
  return Math.min(Math.max(waitMs, waitMsMin), waitMsMax);
}

export function createPauses(clock: Pick<Clock, 'steady'>) {
  const until = createLru<string, number>(tokensMax);
  return {
    pause: (key: string, waitMs: number): void => {
      until.set(key, clock.steady() + waitMs);
    },
    /** 0 if the token may be used. */
    leftMs: (key: string): number => Math.max(0, (until.get(key) ?? 0) - clock.steady()),
  };
}

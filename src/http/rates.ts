// Rate limits for the requests of a key and the failed logins of an address. Each has a token bucket in every process,
// which enforces its share of the limit.
import { AppError } from '../errors.ts';
import { createLru } from '../process/lru.ts';

/** With more, the least recently used bucket is dropped, so that nobody can reset a busy one. */
export const bucketsMax = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

export interface RateLimiter {
  /** Takes a token. Returns the error for the caller if none is left. */
  take(key: string): AppError | undefined;
  /** Gives a token back, if the action did not happen. */
  giveBack(key: string): void;
}

export interface Rate {
  readonly count: number;
  readonly perMs: number;
  /** The start of the error message, such as "This key may make 100 requests a second". */
  readonly limit: string;
  /** How many processes share the limit; 1 if absent. */
  readonly sharing?: () => number;
}

const unlimited: RateLimiter = { take: () => undefined, giveBack: () => {} };

/**
 * A limiter for `count` per `perMs` with bursts of the same size, divided by the processes that share it; 0 means no
 * limit. A bucket holds at least one token: with more processes than `count`, each still lets a request through in turn.
 */
export function createRateLimiter(
  { count, perMs, limit, sharing = () => 1 }: Rate,
  now = () => performance.now(),
): RateLimiter {
  if (count === 0) return unlimited;
  const buckets = createLru<string, Bucket>(bucketsMax);
  const burst = () => Math.max(1, count / sharing());
  const msPerToken = () => (perMs * sharing()) / count;

  function refilled(key: string): Bucket {
    const at = now();
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = { tokens: burst(), at };
      buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(burst(), bucket.tokens + Math.max(0, at - bucket.at) / msPerToken());
    bucket.at = at;
    return bucket;
  }

  return {
    take: (key) => {
      const bucket = refilled(key);
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return undefined;
      }
      const waitS = Math.max(1, Math.ceil(((1 - bucket.tokens) * msPerToken()) / 1_000));
      return new AppError('rate_limited', `${limit}; try again in ${waitS} s.`, {
        retryAfterS: waitS,
        headers: {
          'ratelimit-limit': String(count),
          'ratelimit-remaining': '0',
          'ratelimit-reset': String(waitS),
        },
      });
    },
    giveBack: (key) => {
      const bucket = refilled(key);
      bucket.tokens = Math.min(burst(), bucket.tokens + 1);
    },
  };
}

// Limits and logs failed authentication per client address, without logging the credential. Valid credentials are never
// counted, so one client cannot lock out others behind the same address.
import { isIPv6 } from 'node:net';
import { AppError } from '../errors.ts';
import { createRateLimiter } from './rates.ts';

const minuteMs = 60_000;
/** More failures from one address, counted by all processes together, get 429, and their connection is closed. */
export const failuresPerMinuteMax = 30;
/** Limits the log lines about failures from all addresses together. */
const logLinesPerMinuteMax = 300;

interface Attempt {
  readonly address: string;
  readonly route: string;
  readonly requestId: string;
}

interface FailureLog {
  warn(what: object, message: string): void;
}

/** The key to count an address under: in IPv6 its /64 network, because a client can use every address of that. */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain) || plain.includes('.')) return plain.replace(/^::ffff:/i, '');
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array<string>(missing).fill('0'), ...(tail ? tail.split(':') : [])];
  return `${all.slice(0, 4).join(':')}::/64`;
}

export type AuthFailures = ReturnType<typeof createAuthFailures>;

export function createAuthFailures(log: FailureLog, sharing: () => number, now?: () => number) {
  const attempts = createRateLimiter(
    {
      count: failuresPerMinuteMax,
      perMs: minuteMs,
      limit: 'Too many requests with an invalid key came from this address',
      sharing,
    },
    now,
  );
  const lines = createRateLimiter({ count: logLinesPerMinuteMax, perMs: minuteMs, limit: '' }, now);
  const excessLines = createRateLimiter({ count: 1, perMs: minuteMs, limit: '' }, now);

  /** Logs every failure below the limit, and one line a minute for a network above it. */
  function shouldLog(network: string, isOver: boolean): boolean {
    if (isOver && excessLines.take(network) !== undefined) return false;
    return lines.take('') === undefined;
  }

  /** Counts a rejected credential. Returns the error to send if the address is over its limit. */
  function record({ address, route, requestId }: Attempt): AppError | undefined {
    const network = networkOf(address);
    const over = attempts.take(network);
    if (shouldLog(network, over !== undefined)) {
      const message = over === undefined ? 'authentication failed' : 'too many failed authentications';
      log.warn({ request_id: requestId, address, route }, message);
    }
    if (over === undefined) return undefined;
    return new AppError(over.code, over.message, {
      ...(over.retryAfterS === undefined ? {} : { retryAfterS: over.retryAfterS }),
      headers: { ...over.headers, connection: 'close' },
    });
  }

  return { record };
}

// Credentials that are refused: limited per client address and logged, without the credential. Valid credentials are
// never counted, so nobody is locked out by the failures of others behind the same address.
import { isIPv6 } from 'node:net';
import { AppError } from '../errors.ts';
import { createRateLimiter } from './rates.ts';

const minuteMs = 60_000;
/** Failed attempts of one address in a minute; more are answered with 429 and their connection is closed. */
export const failuresPerMinuteMax = 30;
/** Log lines about failures in a minute, of all addresses together. */
const logLinesPerMinuteMax = 300;

interface Attempt {
  readonly address: string;
  readonly route: string;
  readonly requestId: string;
}

interface FailureLog {
  warn(what: object, message: string): void;
}

/** The network that one client can choose its address from: a /64 in IPv6. */
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

export function createAuthFailures(log: FailureLog, now?: () => number) {
  const attempts = createRateLimiter(
    {
      count: failuresPerMinuteMax,
      perMs: minuteMs,
      limit: 'Too many requests with an invalid key came from this address',
    },
    now,
  );
  const lines = createRateLimiter({ count: logLinesPerMinuteMax, perMs: minuteMs, limit: '' }, now);
  const excessLines = createRateLimiter({ count: 1, perMs: minuteMs, limit: '' }, now);

  /** Whether to write a line: one for each failure that counts, and one a minute for a network over its limit. */
  function shouldLog(network: string, isOver: boolean): boolean {
    if (isOver && excessLines.take(network) !== undefined) return false;
    return lines.take('') === undefined;
  }

  /** Counts a refused credential. Returns the error to answer with where the address is over its limit. */
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

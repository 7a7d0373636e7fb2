// The one error that calls of the client throw, whatever went wrong.
import type { Detail, ErrorCode } from './types.ts';

/**
 * What the service said, or one of ours: `network` where it could not be reached or the connection broke, `timeout`
 * where it did not answer in time, `unexpected` where the answer is none that Parley gives. `invalid` with status 0 is
 * ours, too: what was asked for cannot be sent.
 */
export type ParleyErrorCode = ErrorCode | 'network' | 'timeout' | 'unexpected';

interface ParleyErrorOptions {
  readonly status?: number;
  readonly details?: readonly Detail[];
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** `message` is a sentence to show to a person. */
export class ParleyError extends Error {
  readonly code: ParleyErrorCode;
  /** 0 where no answer came. */
  readonly status: number;
  /** The places in what was sent, and what is wrong with each. */
  readonly details: readonly Detail[];
  /** Finds the request in the log of the service. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ParleyErrorCode, message: string, options: ParleyErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'ParleyError';
    this.code = code;
    this.status = options.status ?? 0;
    this.details = options.details ?? [];
    this.requestId = options.requestId;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** Whether no answer came: nobody knows whether the service did what it was asked for. */
  get isNetworkFault(): boolean {
    return this.code === 'network' || this.code === 'timeout';
  }
}

/** Of the service or of a proxy before it: another try may go well. */
const passingStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether the same request may go well a little later: after network faults, 408, 429, 502, 503 and 504. */
export function isPassing(error: ParleyError): boolean {
  return error.isNetworkFault || passingStatuses.has(error.status);
}

// The error that all calls of the client throw.
import type { Detail, ErrorCode } from './types.ts';

/**
 * A code of the service, or one of the client: `network` if the service could not be reached or the connection broke,
 * `timeout` if it did not answer in time, `unexpected` if the response does not come from Parley. `invalid` with status
 * 0 comes from the client, too: the request cannot be sent.
 */
export type ParleyErrorCode = ErrorCode | 'network' | 'timeout' | 'unexpected';

interface ParleyErrorOptions {
  readonly status?: number;
  readonly details?: readonly Detail[];
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** `message` is a sentence that can be shown to people. */
export class ParleyError extends Error {
  readonly code: ParleyErrorCode;
  /** 0 if there was no response. */
  readonly status: number;
  /** The invalid fields of the request, and what is wrong with each. */
  readonly details: readonly Detail[];
  /** Finds the request in the log of the service. */
  readonly requestId: string | undefined;
  /** How long the service asks the client to wait. */
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

  /** Whether there was no response, so that it is unknown whether the service executed the request. */
  get isNetworkFault(): boolean {
    return this.code === 'network' || this.code === 'timeout';
  }
}

/** Statuses of the service, or of a proxy, after which a retry may succeed. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** Whether the same request may succeed later: after network errors, 408, 429, 502, 503 and 504. */
export function isTemporary(error: ParleyError): boolean {
  return error.isNetworkFault || temporaryStatuses.has(error.status);
}

// Errors that both database engines return for writes that failed or may have failed, and for reads that take too long.
import { AppError } from '../errors.ts';

/** How long a slow read may take on SQLite, and each of its statements on PostgreSQL. */
export const slowReadMs = 5_000;

/** A slow read took too long. The caller may know a better error, because the input caused it. */
export class ReadTimeout extends AppError {
  constructor() {
    super('overloaded', 'The query took too long; try again in a moment.', { retryAfterS: 1 });
    this.name = 'ReadTimeout';
  }
}

/** The error for a write whose deadline passed before it was stored. */
export function tooLate(cause?: unknown): AppError {
  return new AppError('overloaded', 'The write took too long and was not stored; try again.', {
    retryAfterS: 1,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** It has no Retry-After header, because only the caller knows whether repeating the request is safe. */
export function outcomeUnknown(cause: unknown): AppError {
  return new AppError(
    'outcome_unknown',
    'The database did not confirm the change: it may or may not have been stored. Check before you send it again.',
    { cause },
  );
}

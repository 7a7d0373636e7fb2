// Errors that both database engines return for writes that failed or may have failed.
import { AppError } from '../errors.ts';

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

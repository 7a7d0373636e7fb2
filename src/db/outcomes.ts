// What both engines tell of a write that did not end well.
import { AppError } from '../errors.ts';

/** For a write that was not carried out because its deadline has passed. */
export function tooLate(cause?: unknown): AppError {
  return new AppError('overloaded', 'This took too long, and nothing was stored; try again.', {
    retryAfterS: 1,
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Without Retry-After: whether the request may be sent again is for the caller to decide. */
export function outcomeUnknown(cause: unknown): AppError {
  return new AppError(
    'outcome_unknown',
    'The database did not confirm the change: it may or may not have been stored. Check before you send it again.',
    { cause },
  );
}

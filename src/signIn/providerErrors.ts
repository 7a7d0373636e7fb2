// Turns errors of the provider into errors that people can act on. Messages of the provider are not shown: only its error
// codes, which the specifications define, are read.
import { AppError } from '../errors.ts';

/** Codes of openid-client for an answer that does not belong to this sign-in, or is not valid any more. */
const mismatches: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
]);

export function failedSignIn(cause?: unknown): AppError {
  return new AppError(
    'sign_in_failed',
    'The sign-in took too long, was already used, or began in another tab. Try again.',
    { cause },
  );
}

function providerFailed(cause: unknown): AppError {
  return new AppError(
    'sign_in_provider_failed',
    'The sign-in provider cannot be reached, or does not respond as it should. Try again later, or use an API key.',
    { cause },
  );
}

function cancelled(cause: unknown): AppError {
  return new AppError('sign_in_cancelled', 'The sign-in was cancelled, or the provider refused it.', {
    cause,
  });
}

const byProviderCode: Readonly<Record<string, (cause: unknown) => AppError>> = {
  access_denied: cancelled,
  login_required: cancelled,
  consent_required: cancelled,
  interaction_required: cancelled,
  account_selection_required: cancelled,
  invalid_grant: failedSignIn,
};

export function toSignInError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // The errors of openid-client have the provider's own code in `error`.
  const { code, error: providerCode } = error as { code?: unknown; error?: unknown };
  const known = typeof providerCode === 'string' ? byProviderCode[providerCode] : undefined;
  if (known !== undefined) return known(error);
  return typeof code === 'string' && mismatches.has(code) ? failedSignIn(error) : providerFailed(error);
}

// Errors of Git providers as sentences for users. They name the provider and never quote it, because it may repeat a
// token.

import { AppError } from '../errors.ts';
import type { ForgeHost } from '../forge/exchange.ts';
import type { GitProvider } from '../git/providers.ts';
import type { OutgoingError } from '../outgoing/errors.ts';

const names: Readonly<Record<GitProvider, string>> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  bitbucket: 'Bitbucket',
  enterprise_sso: 'The enterprise Git provider',
};

/** Such as `GitHub (github.com)`. */
export function nameOf({ provider, origin }: ForgeHost): string {
  return `${names[provider]} (${new URL(origin).host})`;
}

export function noToken(provider?: GitProvider): AppError {
  return new AppError(
    'git_token_missing',
    provider === undefined
      ? 'No access token of a Git provider is stored.'
      : `No access token of ${provider} is stored.`,
  );
}

export function statusFault(name: string, status: number): AppError {
  switch (status) {
    case 401:
      return new AppError(
        'git_token_refused',
        `${name} does not accept your access token. It may have expired.`,
      );
    case 403:
      return new AppError('git_token_refused', `${name} does not allow your access token to read this.`);
    case 404:
    case 410:
    // Parley's own queries are valid, so they name something that does not exist.
    case 422:
      return new AppError('not_found', `${name} does not have this, or your access token may not read it.`);
    default:
      return new AppError('git_provider_failed', `${name} failed with status ${status}. Try again later.`);
  }
}

export function rateLimited(name: string, waitMs: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000));
  return new AppError(
    'git_provider_rate_limited',
    `${name} has received too many requests with your access token. Try again in ${retryAfterS} s.`,
    { retryAfterS },
  );
}

export function malformed(name: string): AppError {
  return new AppError('git_provider_failed', `${name} does not respond as the API of a Git provider does.`);
}

export function tookTooLong(name: string): AppError {
  return new AppError('git_provider_failed', `${name} did not respond in time.`);
}

/** For a request without a response. */
export function connectionFault(name: string, error: OutgoingError): AppError {
  return new AppError('git_provider_failed', `${name} cannot be asked. ${error.message}`);
}

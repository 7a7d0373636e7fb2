// Errors of a git host, as a status and a sentence that git shows to its user.

import type { GitRemote } from '../git/remote.ts';
import { OutgoingError } from '../outgoing/errors.ts';

export type GitFault = readonly [status: number, sentence: string];

interface GitRequest {
  readonly remote: GitRemote;
  readonly hasToken: boolean;
  readonly toPush: boolean;
}

/** For a response with another status than 200. Nothing of the response is repeated. */
export function statusFault(status: number, { remote, hasToken, toPush }: GitRequest): GitFault {
  const { host } = new URL(remote.origin);
  const { path, provider } = remote;
  const noToken = `and no ${provider} token is set in your settings`;
  const advice = 'Store one there, and try again.';
  switch (status) {
    // Never 401, because git would ask for a password.
    case 401:
    case 403:
      if (!hasToken) return [403, `${host} requires an access token for ${path}, ${noToken}. ${advice}`];
      return [
        403,
        `${host} does not allow the token in your settings to ${toPush ? 'push to' : 'read'} ${path}.`,
      ];
    case 404:
    case 410:
      if (!hasToken)
        return [404, `${host} has no repository ${path}, or it is private ${noToken}. ${advice}`];
      return [404, `${host} has no repository ${path} that the token in your settings can access.`];
    case 429:
      return [429, `${host} has received too many requests. Try again later.`];
    default:
      return [502, `${host} failed (${status}).`];
  }
}

/** A host that requires a login responds with a web page. */
export function answerFault({ origin }: GitRemote): GitFault {
  return [502, `${new URL(origin).host} does not respond like a Git host.`];
}

/** For a request without a response. */
export function connectionFault(error: Error, { origin }: GitRemote): GitFault {
  const { host } = new URL(origin);
  if (!(error instanceof OutgoingError)) return [502, `The connection to ${host} failed.`];
  if (error.code === 'redirect')
    return [
      502,
      `${host} returned a redirect, which is not followed. The repository may have another name now.`,
    ];
  if (error.code === 'too_large') return [502, `${host} sent a response that is too large.`];
  return [502, `${host} cannot be reached. ${error.message}`];
}

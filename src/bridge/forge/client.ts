// A client for the API of a git provider, with the user's access token, outside of the sandbox.

import { publicOrigins } from '../../git/hosts.ts';
import type { GitProvider } from '../../git/providers.ts';
import type { GitRemote } from '../../git/remote.ts';
import { createOutgoingFetch, type OutgoingFetch, type OutgoingOptions } from '../../outgoing/fetch.ts';
import type { AllowPrivate } from '../../outgoing/privateHosts.ts';
import { version } from '../../process/version.ts';
import { mib } from '../../validation/schema.ts';
import { answerFault, connectionFault, statusFault } from './faults.ts';

export interface ForgeRequest {
  readonly query?: Readonly<Record<string, string>>;
  /** The object to create. Without it, the request only reads. */
  readonly json?: object;
}

/** `path` starts with a slash, below the API's base URL. Throws ForgeFault. */
export type SendToForge = (path: string, question?: ForgeRequest) => Promise<unknown>;

const exchangeMs = 30_000;
const answerBytesMax = 8 * mib;

function githubApi(origin: string): string {
  if (origin === publicOrigins.github) return 'https://api.github.com';
  const { host } = new URL(origin);
  // Enterprise Cloud with data residency has its API on a subdomain; servers have it below a path.
  return host.endsWith('.ghe.com') ? `https://api.${host}` : `${origin}/api/v3`;
}

/** A self-hosted Bitbucket has another API, unless the operator has configured a compatible one. */
function bitbucketApi({ origin, namedByOperator, path }: GitRemote): string | undefined {
  if (origin === publicOrigins.bitbucket) return 'https://api.bitbucket.org/2.0';
  return namedByOperator && !path.startsWith('scm/') ? `${origin}/2.0` : undefined;
}

const apis: Readonly<Record<GitProvider, (remote: GitRemote) => string | undefined>> = {
  github: ({ origin }) => githubApi(origin),
  enterprise_sso: ({ origin }) => githubApi(origin),
  gitlab: ({ origin }) => `${origin}/api/v4`,
  bitbucket: bitbucketApi,
};

/** The base URL of the provider's API; undefined if we do not support it. */
export function apiOf(remote: GitRemote): string | undefined {
  return apis[remote.provider](remote);
}

function headersFor(provider: GitProvider, token: string): Record<string, string> {
  const isGithub = provider === 'github' || provider === 'enterprise_sso';
  // An app password of Bitbucket includes the user name.
  const isPair = provider === 'bitbucket' && token.includes(':');
  return {
    accept: isGithub ? 'application/vnd.github+json' : 'application/json',
    'user-agent': `parley/${version}`,
    authorization: isPair ? `Basic ${Buffer.from(token).toString('base64')}` : `Bearer ${token}`,
    ...(isGithub ? { 'x-github-api-version': '2022-11-28' } : {}),
  };
}

export interface ForgeClientOptions {
  readonly remote: GitRemote;
  readonly api: string;
  readonly token: string;
  /** Whether hosts that users configure may have private addresses. */
  readonly allowPrivate: AllowPrivate;
  readonly lookup?: NonNullable<OutgoingOptions['lookup']>;
}

async function readJson(answer: Response): Promise<unknown> {
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Creates the client for one tool call, which the signal aborts. */
export function createForgeClient(options: ForgeClientOptions): (signal: AbortSignal) => SendToForge {
  const { remote, api, token, allowPrivate, lookup } = options;
  const { host } = new URL(api);
  const fetch: OutgoingFetch = createOutgoingFetch({
    allowPrivate: remote.namedByOperator ? () => true : allowPrivate,
    ...(lookup === undefined ? {} : { lookup }),
    timeoutMs: exchangeMs,
    responseBytesMax: answerBytesMax,
  });
  const headers = headersFor(remote.provider, token);

  return (signal) =>
    async (path, { query = {}, json } = {}) => {
      const url = new URL(`${api}${path}`);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const made =
        json === undefined
          ? { headers }
          : {
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json' },
              body: JSON.stringify(json),
            };
      const { status, body } = await fetch(url, { ...made, signal })
        .then(async (answer) => ({ status: answer.status, body: await readJson(answer) }))
        .catch((error: unknown) => {
          throw connectionFault(error, host);
        });
      if (status < 200 || status > 299)
        throw statusFault({ host, token, status, body, toWrite: json !== undefined });
      if (typeof body !== 'object' || body === null) throw answerFault(host);
      return body;
    };
}

// One request to the API of a Git provider with the user's access token, which is sent in a header only.

import { publicOrigins } from '../git/hosts.ts';
import type { GitProvider } from '../git/providers.ts';
import { createOutgoingFetch, type OutgoingOptions } from '../outgoing/fetch.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { version } from '../process/version.ts';

/** A Git provider on one of its hosts. */
export interface ForgeHost {
  readonly provider: GitProvider;
  /** Such as `https://github.com`. */
  readonly origin: string;
  /** The operator configured the origin, so it may use plain http and a private address. */
  readonly namedByOperator: boolean;
  /** The repository, such as `owner/name`, if the requests are about one. */
  readonly path?: string;
}

function githubApi(origin: string): string {
  if (origin === publicOrigins.github) return 'https://api.github.com';
  const { host } = new URL(origin);
  // Enterprise Cloud with data residency has its API on a subdomain; servers have it below a path.
  return host.endsWith('.ghe.com') ? `https://api.${host}` : `${origin}/api/v3`;
}

/** A self-hosted Bitbucket has another API, unless the operator has configured a compatible one. */
function bitbucketApi({ origin, namedByOperator, path = '' }: ForgeHost): string | undefined {
  if (origin === publicOrigins.bitbucket) return 'https://api.bitbucket.org/2.0';
  return namedByOperator && !path.startsWith('scm/') ? `${origin}/2.0` : undefined;
}

const apis: Readonly<Record<GitProvider, (host: ForgeHost) => string | undefined>> = {
  github: ({ origin }) => githubApi(origin),
  enterprise_sso: ({ origin }) => githubApi(origin),
  gitlab: ({ origin }) => `${origin}/api/v4`,
  bitbucket: bitbucketApi,
};

/** The base URL of the provider's REST API; undefined if we do not support it. */
export function apiOf(host: ForgeHost): string | undefined {
  return apis[host.provider](host);
}

/** The URL of the GraphQL API beside the REST API of GitHub or GitLab. */
export function graphqlUrl(api: string): string {
  return `${api.replace(/\/v\d$/, '')}/graphql`;
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

export interface ForgeExchangeOptions {
  readonly host: ForgeHost;
  readonly token: string;
  /** Whether hosts that users configure may have private addresses. */
  readonly allowPrivate: AllowPrivate;
  readonly lookup?: NonNullable<OutgoingOptions['lookup']> | undefined;
  readonly timeoutMs: number;
  readonly responseBytesMax: number;
}

export interface ForgeRequest {
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Sent with POST. Without it, the request only reads. */
  readonly json?: object | undefined;
  /** In addition to, or in place of, the usual ones. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
}

export interface ForgeResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Throws OutgoingError, or the reason of the signal. */
export type SendForgeRequest = (url: string, request: ForgeRequest) => Promise<ForgeResponse>;

export function createForgeExchange(options: ForgeExchangeOptions): SendForgeRequest {
  const { host, token, allowPrivate, lookup, timeoutMs, responseBytesMax } = options;
  const fetch = createOutgoingFetch({
    allowPrivate: host.namedByOperator ? () => true : allowPrivate,
    ...(lookup === undefined ? {} : { lookup }),
    timeoutMs,
    responseBytesMax,
  });
  const usualHeaders = headersFor(host.provider, token);

  return async (address, { query = {}, json, headers: moreHeaders = {}, signal }) => {
    const url = new URL(address);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const headers = { ...usualHeaders, ...moreHeaders };
    const sent =
      json === undefined
        ? { headers }
        : {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            body: JSON.stringify(json),
          };
    const response = await fetch(url, { ...sent, signal });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

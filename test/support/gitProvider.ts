// Small servers on loopback that answer as the APIs of Git providers do: pages, ETags, and errors on request.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GitProvider } from '../../src/git/providers.ts';
import { bitbucketAnswers } from './gitProviders/bitbucket.ts';
import { githubAnswers } from './gitProviders/github.ts';
import { gitlabAnswers } from './gitProviders/gitlab.ts';
import { listenOnLoopback } from './mcpServer.ts';

export interface ProviderRequest {
  readonly method: string;
  /** Below the API, such as `/user`; `/graphql` for GraphQL. */
  readonly path: string;
  readonly query: URLSearchParams;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
  readonly json: any;
}

export interface ProviderAnswer {
  readonly status?: number;
  readonly json?: unknown;
  /** Sent in place of JSON. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Undefined where there is nothing. */
export type AnswerRequest = (request: ProviderRequest) => ProviderAnswer | undefined;

interface Seen extends ProviderRequest {
  readonly authorization: string | undefined;
  readonly status: number;
}

/** Takes over a request; returns false to leave it to the provider. */
type TakeOver = (request: ProviderRequest, response: ServerResponse) => boolean;

export interface FakeProvider {
  readonly provider: GitProvider;
  readonly url: string;
  /** The answered requests, in order. */
  readonly seen: readonly Seen[];
  takeOver(work: TakeOver): void;
  /** All later requests get this answer. */
  answerAll(answer: ProviderAnswer): void;
  /** Changes the JSON of all later answers. */
  changeAll(change: (json: unknown) => unknown): void;
}

interface Dialect {
  readonly api: string;
  readonly graphql: string | undefined;
  readonly answer: AnswerRequest;
}

const github: Dialect = { api: '/api/v3', graphql: '/api/graphql', answer: githubAnswers };
const dialects: Readonly<Record<GitProvider, Dialect>> = {
  github,
  enterprise_sso: github,
  gitlab: { api: '/api/v4', graphql: '/api/graphql', answer: gitlabAnswers },
  bitbucket: { api: '/2.0', graphql: undefined, answer: bitbucketAnswers },
};

/** The authorization header that the servers expect. */
export const providerToken = 'CANARY-git-token-51c0ffee';

async function readRequest(request: IncomingMessage, dialect: Dialect): Promise<ProviderRequest> {
  const { method = 'GET', url = '' } = request;
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString();
  const path = pathname === dialect.graphql ? '/graphql' : pathname.slice(dialect.api.length);
  return { method, path, query: searchParams, json: text === '' ? undefined : JSON.parse(text) };
}

function send(response: ServerResponse, answer: ProviderAnswer, ifNoneMatch: string | undefined): number {
  const { status = 200, json, text = JSON.stringify(json), headers } = answer;
  const etag = `W/"${createHash('sha256').update(text).digest('hex')}"`;
  const isKnown = status === 200 && ifNoneMatch === etag;
  const type = answer.text === undefined ? 'application/json' : 'text/plain';
  response.writeHead(isKnown ? 304 : status, { 'content-type': type, etag, ...headers });
  response.end(isKnown ? undefined : text);
  return isKnown ? 304 : status;
}

export async function listenAsProvider(
  t: { after(fn: () => Promise<void>): void },
  provider: GitProvider,
): Promise<FakeProvider> {
  const dialect = dialects[provider];
  const seen: Seen[] = [];
  let takeOver: TakeOver = () => false;
  let always: ProviderAnswer | undefined;
  let change = (json: unknown) => json;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = await readRequest(request, dialect);
    const { authorization } = request.headers;
    if (takeOver(asked, response)) return;
    const isKnown = authorization === `Bearer ${providerToken}`;
    const found = isKnown
      ? (always ?? dialect.answer(asked) ?? { status: 404, json: { message: 'Not Found' } })
      : { status: 401, json: { message: `Bad credentials: ${authorization}` } };
    const status = send(
      response,
      'json' in found ? { ...found, json: change(found.json) } : found,
      asked.method === 'GET' ? request.headers['if-none-match'] : undefined,
    );
    seen.push({ ...asked, authorization, status });
  }

  const { url } = await listenOnLoopback(t, (request, response) => void answer(request, response));
  return {
    provider,
    url,
    seen,
    takeOver: (work) => {
      takeOver = work;
    },
    answerAll: (one) => {
      always = one;
    },
    changeAll: (one) => {
      change = one;
    },
  };
}

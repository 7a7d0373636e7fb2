// The git proxy of the bridge: clone, fetch and push of the one repository of a conversation. The user's token is
// added here, outside the sandbox, and pushes reach branches only.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { GitProvider } from '../git/providers.ts';
import { type GitRemote, isBranchName } from '../git/remote.ts';
import { createOutgoingFetch, type OutgoingFetch, type OutgoingOptions } from '../outgoing/fetch.ts';
import type { AllowPrivate } from '../outgoing/privateHosts.ts';
import { mib } from '../validation/schema.ts';
import { type BridgeHandler, refuse } from './bridge.ts';
import { answerFault, connectionFault, type GitFault, statusFault } from './gitFaults.ts';
import { type PushHead, readPushHead, refusalReport } from './pushCommands.ts';

interface GitHandlerOptions {
  readonly remote: GitRemote;
  /** The user's access token for the provider; null if none is stored. */
  readonly token: string | null;
  /** Whether hosts that users configure may have private addresses. */
  readonly allowPrivate: AllowPrivate;
  readonly lookup?: NonNullable<OutgoingOptions['lookup']>;
}

export interface GitHandler {
  readonly handle: BridgeHandler;
  /** Why the last request to the host failed, as a sentence; undefined if it succeeded. */
  fault(): string | undefined;
}

const exchangeMs = 30 * 60_000;
const answerBytesMax = 8 * 1_024 * mib;
const headerCharsMax = 1_000;

const requestHeaders = ['accept', 'content-encoding', 'content-type', 'git-protocol', 'user-agent'] as const;
const answerHeaders = ['cache-control', 'content-type', 'expires', 'pragma'];

const users: Readonly<Record<GitProvider, string>> = {
  github: 'x-access-token',
  enterprise_sso: 'x-access-token',
  gitlab: 'oauth2',
  bitbucket: 'x-token-auth',
};

function authorization(provider: GitProvider, token: string): string {
  // An app password of Bitbucket includes the user name.
  const hasUser = provider === 'bitbucket' && token.includes(':');
  return `Basic ${Buffer.from(hasUser ? token : `${users[provider]}:${token}`).toString('base64')}`;
}

function headersFor(sent: IncomingHttpHeaders, { remote, token }: GitHandlerOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of requestHeaders) {
    const value = sent[name];
    if (typeof value === 'string' && value.length <= headerCharsMax) headers[name] = value;
  }
  if (token !== null && token !== '') headers['authorization'] = authorization(remote.provider, token);
  return headers;
}

interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly pushes: boolean;
  readonly answerType: string;
}

/** The only paths of a git server that can be requested. */
const endpoints = new Map<string, Endpoint>(
  (['upload-pack', 'receive-pack'] as const).flatMap((service) => {
    const type = `application/x-git-${service}`;
    const pushes = service === 'receive-pack';
    const asks: Endpoint = { method: 'GET', pushes, answerType: `${type}-advertisement` };
    const does: Endpoint = { method: 'POST', pushes, answerType: `${type}-result` };
    return [
      [`/info/refs?service=git-${service}`, asks],
      [`/git-${service}`, does],
    ];
  }),
);

/** Why a push is refused; undefined if it is allowed. */
function pushFault({ commands }: PushHead): string | undefined {
  if (commands.some(({ deletes }) => deletes)) return 'branches cannot be deleted from here';
  const branches = commands.every(
    ({ ref }) => ref.startsWith('refs/heads/') && isBranchName(ref.slice('refs/heads/'.length)),
  );
  return branches ? undefined : 'only branches can be pushed from here';
}

/** A request that is forwarded. */
interface Passage {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The URL at the host. */
  readonly url: string;
  readonly endpoint: Endpoint;
}

/** Forwards the response. */
function sendBack(answer: Response, body: NonNullable<Response['body']>, response: ServerResponse) {
  const headers = answerHeaders.flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  response.writeHead(200, Object.fromEntries(headers));
  return pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), response);
}

export function createGitHandler(options: GitHandlerOptions): GitHandler {
  const { remote, token, allowPrivate, lookup } = options;
  const fetch: OutgoingFetch = createOutgoingFetch({
    allowPrivate: remote.namedByOperator ? () => true : allowPrivate,
    ...(lookup === undefined ? {} : { lookup }),
    timeoutMs: exchangeMs,
    responseBytesMax: answerBytesMax,
  });
  let lastFault: string | undefined;

  function fail(response: ServerResponse, [status, sentence]: GitFault): void {
    lastFault = sentence;
    if (response.headersSent) response.destroy();
    else refuse(response, status, sentence);
  }

  /** Forwards the request with the user's access token. */
  async function pass({ request, response, url, endpoint }: Passage, body?: Readable): Promise<void> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const answer = await fetch(url, {
      method: endpoint.method,
      headers: headersFor(request.headers, options),
      signal: left.signal,
      ...(body === undefined ? {} : { body: Readable.toWeb(body) as ReadableStream }),
    });
    const [type = ''] = (answer.headers.get('content-type') ?? '').split(';');
    const good = answer.status === 200 && type.trim() === endpoint.answerType;
    if (good && answer.body !== null) {
      lastFault = undefined;
      return sendBack(answer, answer.body, response);
    }
    await answer.body?.cancel();
    const asked = { remote, hasToken: Boolean(token), toPush: endpoint.pushes };
    fail(response, answer.status === 200 ? answerFault(remote) : statusFault(answer.status, asked));
  }

  /** Allows only pushes to branches. Others are refused in git's own way, after the rest of the body was read. */
  async function push(passage: Passage): Promise<void> {
    const { request, response, endpoint } = passage;
    const pieces = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const head = request.headers['content-encoding'] === undefined ? await readPushHead(pieces) : undefined;
    const fault = head && pushFault(head);
    if (head !== undefined && fault === undefined)
      return pass(passage, Readable.from(whole(head.read, pieces)));
    while (!(await pieces.next()).done);
    if (head === undefined || fault === undefined)
      return refuse(response, 403, 'This push cannot be understood.');
    const report = refusalReport(head, fault);
    if (report === undefined) return refuse(response, 403, `Refused: ${fault}.`);
    response.writeHead(200, { 'content-type': endpoint.answerType }).end(report);
  }

  async function answer(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    const base = `/${remote.path}.git`;
    if (!rest.startsWith(`${base}/`))
      return refuse(response, 403, `This run may reach the repository ${remote.path} only.`);
    const endpoint = endpoints.get(rest.slice(base.length));
    if (endpoint === undefined || endpoint.method !== request.method)
      return refuse(response, 403, 'Only what git itself asks for can be had here.');
    const passage = { request, response, url: `${remote.origin}${rest}`, endpoint };
    if (endpoint.method === 'GET') return pass(passage);
    return endpoint.pushes ? push(passage) : pass(passage, request);
  }

  return {
    handle: (request, response, rest) => {
      answer(request, response, rest).catch((error: Error) => {
        if (!response.destroyed) fail(response, connectionFault(error, remote));
      });
    },
    fault: () => lastFault,
  };
}

async function* whole(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

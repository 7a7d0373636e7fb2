// The git proxy of the bridge: clone, fetch and push of the one repository of a conversation. The user's token is
// added here, outside the sandbox, and pushes reach branches only.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { OutgoingError } from '../../outgoing/errors.ts';
import { createOutgoingFetch, type Lookup, type OutgoingFetch } from '../../outgoing/fetch.ts';
import type { GitProvider } from '../../providers.ts';
import { type GitRemote, isBranchName } from '../workspace/remote.ts';
import { type BridgeHandler, refuse } from './bridge.ts';
import { type PushHead, readPushHead, refusalReport } from './pushCommands.ts';

interface GitHandlerOptions {
  readonly remote: GitRemote;
  /** The user's token for the provider; null where none is stored. */
  readonly token: string | null;
  /** Whether hosts that users name may have private addresses. */
  readonly allowPrivate: () => boolean | Promise<boolean>;
  readonly lookup?: Lookup;
}

export interface GitHandler {
  readonly handle: BridgeHandler;
  /** Why the last request to the host failed, as a sentence; undefined where it went well. */
  fault(): string | undefined;
}

const exchangeMs = 30 * 60_000;
const answerBytesMax = 8 * 1024 ** 3;
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
  // An app password of Bitbucket comes with the name of its user.
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

/** What git may ask of a server, and nothing else of it. */
const endpoints: Readonly<Record<string, 'read' | 'push'>> = {
  'GET /info/refs?service=git-upload-pack': 'read',
  'GET /info/refs?service=git-receive-pack': 'read',
  'POST /git-upload-pack': 'read',
  'POST /git-receive-pack': 'push',
};

/** Why a push must not go on; undefined where it may. */
function pushFault({ commands }: PushHead): string | undefined {
  if (commands.some(({ deletes }) => deletes)) return 'branches cannot be deleted from here';
  const branches = commands.every(
    ({ ref }) => ref.startsWith('refs/heads/') && isBranchName(ref.slice('refs/heads/'.length)),
  );
  return branches ? undefined : 'only branches can be pushed from here';
}

export function createGitHandler(options: GitHandlerOptions): GitHandler {
  const { remote, token, allowPrivate, lookup } = options;
  const { host } = new URL(remote.origin);
  const fetch: OutgoingFetch = createOutgoingFetch({
    allowPrivate: remote.namedByOperator ? () => true : allowPrivate,
    ...(lookup === undefined ? {} : { lookup }),
    timeoutMs: exchangeMs,
    responseBytesMax: answerBytesMax,
  });
  let lastFault: string | undefined;

  function statusFault(status: number): [code: number, sentence: string] {
    const noToken = `and no ${remote.provider} token is set in your settings`;
    if (status === 401 || status === 403)
      return token === null
        ? [403, `${host} wants a token for ${remote.path}, ${noToken}.`]
        : [403, `${host} does not accept the token in your settings for ${remote.path}.`];
    if (status === 404 || status === 410)
      return token === null
        ? [404, `${host} has no repository ${remote.path}, or it is private ${noToken}.`]
        : [404, `${host} has no repository ${remote.path} that the token in your settings may see.`];
    if (status === 429) return [429, `${host} has had too many requests. Try again later.`];
    return [502, `${host} failed (${status}).`];
  }

  function fail(response: ServerResponse, code: number, sentence: string): void {
    lastFault = sentence;
    if (response.headersSent) response.destroy();
    else refuse(response, code, sentence);
  }

  /** Sends the request on, with the user's token, and the answer back as it comes. */
  async function exchange(
    request: IncomingMessage,
    response: ServerResponse,
    rest: string,
    body: Readable | undefined,
  ): Promise<void> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const answer = await fetch(`${remote.origin}${rest}`, {
      method: request.method ?? 'GET',
      headers: headersFor(request.headers, options),
      signal: left.signal,
      ...(body === undefined ? {} : { body: Readable.toWeb(body) as ReadableStream }),
    });
    if (answer.status !== 200 || answer.body === null) {
      await answer.body?.cancel();
      return fail(response, ...statusFault(answer.status));
    }
    lastFault = undefined;
    const headers = answerHeaders.flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    response.writeHead(200, Object.fromEntries(headers));
    await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), response);
  }

  /** Lets only pushes of branches pass, and refuses others as git servers do, once the rest of the body was read. */
  async function push(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    const pieces = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const head = request.headers['content-encoding'] === undefined ? await readPushHead(pieces) : undefined;
    if (head === undefined) return refuse(response, 403, 'This push cannot be understood.');
    const fault = pushFault(head);
    if (fault === undefined)
      return exchange(request, response, rest, Readable.from(whole(head.read, pieces)));
    while (!(await pieces.next()).done);
    const report = refusalReport(head, fault);
    if (report === undefined) return refuse(response, 403, `Refused: ${fault}.`);
    response.writeHead(200, { 'content-type': 'application/x-git-receive-pack-result' }).end(report);
  }

  async function answer(request: IncomingMessage, response: ServerResponse, rest: string): Promise<void> {
    const base = `/${remote.path}.git`;
    if (!rest.startsWith(`${base}/`))
      return refuse(response, 403, `This run may reach the repository ${remote.path} only.`);
    const endpoint = `${request.method} ${rest.slice(base.length)}`;
    const kind = Object.hasOwn(endpoints, endpoint) ? endpoints[endpoint] : undefined;
    if (kind === undefined) return refuse(response, 403, 'Only git itself has a use for this address.');
    if (kind === 'push') return push(request, response, rest);
    return exchange(request, response, rest, request.method === 'POST' ? request : undefined);
  }

  return {
    handle: (request, response, rest) => {
      answer(request, response, rest).catch((error: Error) => {
        if (response.destroyed) return;
        fail(response, 502, outgoingFault(host, error));
      });
    },
    fault: () => lastFault,
  };
}

function outgoingFault(host: string, error: Error): string {
  if (!(error instanceof OutgoingError)) return `The connection to ${host} failed.`;
  if (error.code === 'redirect')
    return `${host} answers with a redirect, which is not followed. The repository may have another name now.`;
  return `${host} cannot be reached. ${error.message}`;
}

async function* whole(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

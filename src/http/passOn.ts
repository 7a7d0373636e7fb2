// Passes a request on to the process that has the workspace of the conversation, and its response back. Also reads from
// another node what only it has.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from 'fastify';
import type { Agent, Dispatcher } from 'undici';
import { type ConversationName, conversationName } from '../conversations/id.ts';
import { AppError } from '../errors.ts';
import type { Principal } from '../keys/principal.ts';
import { type Nodes, unreachable } from '../nodes/service.ts';
import { nodeTokenHeader } from '../nodes/token.ts';
import { closeAfterResponse } from './unreadBody.ts';

const connectTimeoutMs = 3_000;
/** Longer than the process may take to read a workspace. */
const headersTimeoutMs = 120_000;
/** Longer than it may take to receive and write an upload. */
const uploadHeadersTimeoutMs = 20 * 60_000;
const bodyTimeoutMs = 60_000;
/** How often a process that has not answered yet is checked: one that hangs still accepts connections. */
const aliveCheckedMs = 2_000;
const connectionsPerNodeMax = 64;

/** The rest is set by this process itself. */
const requestHeaders = ['content-type', 'content-length', 'range', 'if-none-match'];
const responseHeaders = [
  'content-type',
  'content-length',
  'content-disposition',
  'cache-control',
  'etag',
  'retry-after',
];

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  const picked = names.map((name) => [name, headers[name]] as const);
  return Object.fromEntries(
    picked.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

const hasNoBody = (method: string) => method === 'GET' || method === 'HEAD';

/**
 * The body as a stream that undici may destroy. Nothing of the body is read before the connection is there, so that
 * another process can be asked.
 */
function unconsumedBody(raw: IncomingMessage): Readable {
  async function* pieces() {
    for await (const piece of raw.iterator({ destroyOnReturn: false })) yield piece;
  }
  return Readable.from(pieces(), { objectMode: false });
}

/** Codes of errors after which another process can be asked, because this one has received nothing. */
const notConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Closes a response that nobody reads. It emits an error then, which would end the process without a listener. */
export function discardBody(body: Dispatcher.ResponseData['body']): void {
  body.on('error', () => {}).destroy();
}

export type PassOn = ReturnType<typeof createPassOn>['passOn'];
export type ReadFrom = ReturnType<typeof createPassOn>['readFrom'];
export type ReadAt = ReturnType<typeof createPassOn>['readAt'];

/** When the last snapshot of a conversation was taken; undefined if there is none. */
type FindSnapshotTime = (name: ConversationName) => Promise<number | undefined>;

/** Says that the files are those of a snapshot, and when that was taken. */
const snapshotHeader = 'parley-snapshot-at';

export function createPassOn(nodes: Nodes, findSnapshotTime: FindSnapshotTime = async () => undefined) {
  let agent: Agent | undefined;

  async function openAgent(): Promise<Agent> {
    // Loaded on first use, because the service does not need it to start.
    const undici = await import('undici');
    agent ??= new undici.Agent({
      connections: connectionsPerNodeMax,
      connect: { timeout: connectTimeoutMs },
      headersTimeout: headersTimeoutMs,
      bodyTimeout: bodyTimeoutMs,
    });
    return agent;
  }

  async function ask(
    origin: string,
    request: FastifyRequest,
    dead?: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { method, principal, id: requestId, raw } = request;
    const url = raw.url ?? '';
    const gone = new AbortController();
    request.response.once('close', () => gone.abort());
    return (await openAgent()).request({
      origin,
      path: url,
      method: method as Dispatcher.HttpMethod,
      headers: {
        ...pick(request.headers, requestHeaders),
        [nodeTokenHeader]: nodes.sign({ method, url, requestId, principal }),
      },
      body: hasNoBody(method) ? null : unconsumedBody(raw),
      headersTimeout: hasNoBody(method) ? headersTimeoutMs : uploadHeadersTimeoutMs,
      signal: dead === undefined ? gone.signal : AbortSignal.any([gone.signal, dead]),
    });
  }

  /** Returns an error if no process could be connected to, so that none has received the request, or all are `dead`. */
  async function askAny(
    origins: readonly string[],
    request: FastifyRequest,
    dead?: AbortSignal,
  ): Promise<Dispatcher.ResponseData | AppError> {
    let last: unknown;
    for (const origin of origins) {
      try {
        return await ask(origin, request, dead);
      } catch (error) {
        last = error;
        if (dead?.aborted) break;
        if (!notConnected.has((error as NodeJS.ErrnoException).code ?? '')) throw unreachable(error);
      }
    }
    return unreachable(last);
  }

  /** Like `askAny`, but ends when none of the processes is registered any more, because they died or hang. */
  async function askLive(
    name: ConversationName,
    origins: readonly string[],
    request: FastifyRequest,
  ): Promise<Dispatcher.ResponseData | AppError> {
    const dead = new AbortController();
    let isAnswered = false;
    async function check(): Promise<void> {
      const live = (await nodes.findOthers(name)) ?? [];
      if (!isAnswered && !origins.some((origin) => live.includes(origin))) dead.abort();
    }
    // While the database cannot be read, nobody is declared dead.
    const timer = setInterval(() => void check().catch(() => {}), aliveCheckedMs);
    try {
      return await askAny(origins, request, dead.signal);
    } finally {
      isAnswered = true;
      clearInterval(timer);
    }
  }

  async function relay(answer: Dispatcher.ResponseData, request: FastifyRequest, reply: FastifyReply) {
    const { statusCode, headers, body } = answer;
    // The other process did not accept the token, for example because its clock is wrong.
    if (statusCode === 401 || statusCode === 403) {
      discardBody(body);
      throw unreachable(new Error(`it returned ${statusCode}`));
    }
    reply.code(statusCode).headers(pick(headers, responseHeaders));
    if (hasNoBody(request.method)) return reply.send(body);
    const text = await body.text().catch((error: unknown) => Promise.reject(unreachable(error)));
    // The other process need not have read everything.
    closeAfterResponse(request.raw, reply.raw);
    return reply.send(text);
  }

  /** A hook for routes that need the workspace of a conversation: it answers if the workspace is on another machine. */
  const passOn: preHandlerAsyncHookHandler = async (request, reply) => {
    if (request.isPassedOn) return;
    const { id } = request.params as { id: string };
    const origins = await nodes.findOthers(conversationName(request.principal, id));
    if (origins === undefined) return;
    const answer = await askAny(origins, request);
    if (answer instanceof AppError) throw answer;
    await relay(answer, request, reply);
  };

  /**
   * Passes on requests that only read files. If no process of the machine can be connected to, such as right after it was
   * killed, or all of them hang, the route reads the last snapshot instead.
   */
  const passOnReading: preHandlerAsyncHookHandler = async (request, reply) => {
    if (request.isPassedOn) return;
    const name = conversationName(request.principal, (request.params as { id: string }).id);
    const origins = await nodes.findOthers(name);
    if (origins === undefined) return;
    const answer = await askLive(name, origins, request);
    if (!(answer instanceof AppError)) return relay(answer, request, reply);
    const takenAt = await findSnapshotTime(name);
    if (takenAt === undefined) throw answer;
    request.isNodeGone = true;
    reply.header(snapshotHeader, new Date(takenAt).toISOString());
  };

  /** Sends a GET request of this process to the process at a URL. */
  async function readAt(
    origin: string,
    url: string,
    principal: Principal,
    requestId: string,
    signal?: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const headers = { [nodeTokenHeader]: nodes.sign({ method: 'GET', url, requestId, principal }) };
    return (await openAgent()).request({
      origin,
      path: url,
      method: 'GET',
      headers,
      ...(signal && { signal }),
    });
  }

  /** Sends a GET request of this process to another node. Throws if no process of the node can be reached. */
  async function readFrom(nodeId: string, url: string, principal: Principal, requestId: string) {
    const origins = await nodes.findUrls(nodeId);
    let last: unknown;
    for (const origin of origins) {
      try {
        return await readAt(origin, url, principal, requestId);
      } catch (error) {
        last = error;
      }
    }
    throw unreachable(last);
  }

  return { passOn, passOnReading, readFrom, readAt, close: async () => agent?.destroy() };
}

// Remote MCP servers for programs in a sandbox: `/mcp/<n>` is the n-th one, and nothing else of its host. Its API key
// is added here, outside.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as WebStream } from 'node:stream/web';
import { LRUCache } from 'lru-cache';
import type { Remote } from '../mcp/remotes.ts';
import { OutgoingError, timedOut } from '../outgoing/errors.ts';
import { createOutgoingFetch, type OutgoingFetch, type OutgoingOptions } from '../outgoing/fetch.ts';
import { mib } from '../validation/schema.ts';
import { type Bodies, createBodies } from './bodies.ts';
import { type BridgeHandler, refuse } from './bridge.ts';
import { rewriteEndpoint } from './mcpEndpoint.ts';

const requestBytesMax = 8 * mib;
/** For one response, which may be a stream that stays open during the run. */
const answerBytesMax = 1024 * mib;
const answerMsMax = 24 * 60 * 60 * 1_000;
/** Until a response begins, if the server has no timeout of its own. */
const defaultTimeoutMs = 60_000;
/** Message URLs that one server has named. The least recently used is dropped. */
const endpointsMax = 64;

const requestHeaders = ['accept', 'content-type', 'last-event-id', 'mcp-protocol-version', 'mcp-session-id'];
const answerHeaders = [
  'cache-control',
  'content-type',
  'mcp-protocol-version',
  'mcp-session-id',
  'retry-after',
];
const methods: Readonly<Record<Remote['transport'], readonly string[]>> = {
  http: ['GET', 'POST', 'DELETE'],
  sse: ['GET'],
};

interface McpHandlerOptions {
  /** In the order of `listRemotes`, with decrypted API keys. */
  readonly remotes: readonly Remote[];
  readonly outgoing: Pick<OutgoingOptions, 'allowPrivate' | 'lookup'>;
  /** The URL of a server that the operator configured, whose address may be private. */
  readonly operatorUrl?: string | undefined;
  readonly bodies?: Bodies;
}

/** An outgoing request. */
interface Outgoing {
  readonly remote: Remote;
  readonly url: string;
  /** Stores the message URL that the response names; undefined if it names none. */
  readonly keepEndpoint: ((url: URL) => string) | undefined;
}

function headersFor(request: IncomingMessage, { server }: Remote): Headers {
  const headers = new Headers({ 'accept-encoding': 'identity' });
  for (const name of requestHeaders) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  if (server.api_key) headers.set('authorization', `Bearer ${server.api_key}`);
  return headers;
}

function beginAnswer(response: ServerResponse, answer: Response): void {
  const headers = answerHeaders.flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  response.writeHead(answer.status, Object.fromEntries(headers));
  response.flushHeaders();
}

function describe(error: unknown): string {
  return `The MCP server could not be reached. ${error instanceof OutgoingError ? error.message : ''}`.trim();
}

/** Forwards one request, and aborts it if the client disconnects. */
async function forward(
  fetch: OutgoingFetch,
  bodies: Bodies,
  { remote, url, keepEndpoint }: Outgoing,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = request.method === 'POST' ? await bodies.read(request, response, requestBytesMax) : undefined;
  if (body !== undefined && 'status' in body) return refuse(response, body.status, body.sentence);
  const stop = new AbortController();
  response.once('close', () => stop.abort());
  const timeoutMs = remote.server.timeout === undefined ? defaultTimeoutMs : remote.server.timeout * 1_000;
  const timer = setTimeout(() => stop.abort(timedOut(timeoutMs)), timeoutMs);
  try {
    const answer = await fetch(url, {
      method: request.method ?? 'GET',
      headers: headersFor(request, remote),
      signal: stop.signal,
      ...(body === undefined ? {} : { body }),
    }).finally(() => clearTimeout(timer));
    beginAnswer(response, answer);
    if (answer.body === null) return void response.end();
    const read = Readable.fromWeb(answer.body as WebStream);
    if (keepEndpoint === undefined || !answer.ok) await pipeline(read, response);
    else await pipeline(read, rewriteEndpoint(url, keepEndpoint), response);
  } catch (error) {
    // A response that has begun can only be cut off.
    if (response.headersSent) response.destroy();
    else refuse(response, 502, describe(error));
  }
}

export function createMcpHandler(options: McpHandlerOptions): BridgeHandler {
  const { remotes, outgoing, operatorUrl, bodies = createBodies() } = options;
  const bounds = { timeoutMs: answerMsMax, responseBytesMax: answerBytesMax };
  const fetch = createOutgoingFetch({ ...outgoing, ...bounds });
  const fetchAnywhere = createOutgoingFetch({ ...outgoing, ...bounds, allowPrivate: () => true });
  const endpoints = remotes.map(() => new LRUCache<string, string>({ max: endpointsMax }));
  let named = 0;

  function keepEndpoint(index: number): (url: URL) => string {
    return (url) => {
      const place = String(++named);
      endpoints[index]?.set(place, url.href);
      return `/mcp/${index}/${place}`;
    };
  }

  /** Returns undefined if there is no such server. */
  function find(rest: string, method: string): Outgoing | undefined {
    const [, n = '', place] = /^\/(\d{1,4})(?:\/(\d{1,9}))?$/.exec(rest) ?? [];
    const index = Number(n);
    const remote = n === '' ? undefined : remotes[index];
    if (remote === undefined) return undefined;
    if (place !== undefined) {
      const url = method === 'POST' ? endpoints[index]?.get(place) : undefined;
      return url === undefined ? undefined : { remote, url, keepEndpoint: undefined };
    }
    if (!methods[remote.transport].includes(method)) return undefined;
    const keep = remote.transport === 'sse' ? keepEndpoint(index) : undefined;
    return { remote, url: remote.server.url, keepEndpoint: keep };
  }

  return (request, response, rest) => {
    const found = find(rest, request.method ?? '');
    if (found === undefined) return refuse(response, 404, 'There is no MCP server here.');
    const chosen = found.url === operatorUrl ? fetchAnywhere : fetch;
    forward(chosen, bodies, found, request, response).catch(() => response.destroy());
  };
}

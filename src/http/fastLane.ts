// Answers one very frequent request without Fastify if the response is cached. Anything special (another origin, a
// conditional request, an unknown key, an exceeded rate limit) goes to Fastify, where all rules are applied.
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { type Authenticate, sentCredential } from './authentication.ts';
import { commonHeaders } from './commonHeaders.ts';
import type { Guard } from './guard.ts';
import type { OpenAnswers } from './openAnswers.ts';
import type { RateLimiter } from './rates.ts';
import { boundStall } from './stall.ts';
import { traceAnswered } from './traceRequests.ts';

/** A cached response. The object stays the same as long as its content does. */
export interface ReadyAnswer {
  readonly text: string;
  readonly etag: string;
}

/** A GET route that accepts session keys and bearer tokens. */
export interface FastRoute {
  readonly url: string;
  readonly scope: Scope;
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the response if it is cached. */
  readonly find: (principal: Principal) => ReadyAnswer | undefined;
}

interface FastLaneOptions {
  readonly guard: Guard;
  readonly authenticate: Authenticate;
  readonly requestRates: RateLimiter;
  readonly isStopping: () => boolean;
  readonly nextId: () => string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  readonly openAnswers: OpenAnswers;
}

const notPlain = ['origin', 'if-none-match', 'content-length', 'transfer-encoding'];

/** Whether Fastify would check nothing but the key. */
function isPlain(headers: IncomingHttpHeaders, guard: Guard): boolean {
  for (const name of notPlain) if (headers[name] !== undefined) return false;
  const forwarded = headers['x-forwarded-host'];
  // If both names are allowed, it does not matter whether the proxy is trusted.
  const known = forwarded === undefined || (typeof forwarded === 'string' && guard.knows(forwarded));
  return known && guard.knows(headers.host);
}

/** A flat list of names and values, which Node writes faster than an object. */
function flatten(route: FastRoute, { text, etag }: ReadyAnswer): readonly string[] {
  const length = String(Buffer.byteLength(text));
  return Object.entries({ ...commonHeaders, ...route.headers, etag, 'content-length': length }).flat();
}

/** Whether the client has not read the response completely, or it waits behind others. */
function isUnread({ socket, req }: ServerResponse): boolean {
  // A response that waits behind others has no socket yet.
  return socket === null || req.socket.writableLength > 0;
}

/** Wraps the listener of Fastify, which gets every request that is not answered here. */
export function openFastLane(
  route: FastRoute,
  options: FastLaneOptions,
  answerUsually: RequestListener,
): RequestListener {
  const { guard, authenticate, requestRates, isStopping, nextId, logger, metrics, tracing, openAnswers } =
    options;
  const heads = new WeakMap<ReadyAnswer, readonly string[]>();
  const logs = logger.isLevelEnabled('debug');
  const observe = metrics.requests.observerOf(['GET', route.url, 200]);

  function findPrincipal(headers: IncomingHttpHeaders): Principal | undefined {
    const sent = sentCredential(headers);
    const principal = sent && authenticate(sent.text, sent.via);
    if (principal instanceof Promise) {
      // Fastify waits for the same lookup and reports its failure.
      principal.catch(() => {});
      return undefined;
    }
    return principal?.conversationId === undefined && principal?.scopes.has(route.scope)
      ? principal
      : undefined;
  }

  function headOf(answer: ReadyAnswer): readonly string[] {
    let head = heads.get(answer);
    if (head === undefined) {
      head = flatten(route, answer);
      heads.set(answer, head);
    }
    return head;
  }

  function tryFast(request: IncomingMessage, response: ServerResponse): boolean {
    const { headers } = request;
    const since = performance.now();
    if (isStopping() || !isPlain(headers, guard)) return false;
    const principal = findPrincipal(headers);
    const answer = principal && route.find(principal);
    // The rate limit is charged last, because Fastify charges the requests that it gets itself.
    if (answer === undefined || requestRates.take(principal?.keyId ?? '') !== undefined) return false;
    const id = nextId();
    response.writeHead(200, [...headOf(answer), 'x-request-id', id]);
    response.end(answer.text);
    observe((performance.now() - since) / 1_000);
    if (tracing !== undefined) traceAnswered(tracing, request, route.url, since);
    if (isUnread(response)) {
      boundStall(request.socket);
      openAnswers.follow(request, response);
    }
    if (logs) logger.debug({ request_id: id, method: 'GET', route: route.url, status: 200 }, 'request');
    return true;
  }

  return (request, response) => {
    const asked = request.method === 'GET' && request.url === route.url;
    if (!asked || !tryFast(request, response)) answerUsually(request, response);
  };
}

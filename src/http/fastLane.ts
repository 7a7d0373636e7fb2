// The shortest way for a request that is made very often and whose answer is ready: it skips the framework. Whatever
// is not plain (another origin, a condition, an unknown key, a caller over its rate) takes the usual way, where all
// rules are.
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';
import { type Authenticate, sentCredential } from './authentication.ts';
import { commonHeaders } from './commonHeaders.ts';
import type { Guard } from './guard.ts';
import type { RateLimiter } from './rates.ts';
import { boundUnread } from './stall.ts';

/** A ready answer; the same object as long as it stays the same. */
export interface ReadyAnswer {
  readonly text: string;
  readonly etag: string;
}

/** GET of one URL that takes session keys and bearer tokens. */
export interface FastRoute {
  readonly url: string;
  readonly scope: Scope;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer, where it can be given at once. */
  readonly find: (principal: Principal) => ReadyAnswer | undefined;
}

interface FastLaneOptions {
  readonly guard: Guard;
  readonly authenticate: Authenticate;
  readonly requestRates: RateLimiter;
  readonly isStopping: () => boolean;
  readonly nextId: () => string;
  readonly logger: Logger;
}

const notPlain = ['origin', 'if-none-match', 'content-length', 'transfer-encoding'];

/** Whether the usual way would look at nothing more than the key. */
function isPlain(headers: IncomingHttpHeaders, guard: Guard): boolean {
  for (const name of notPlain) if (headers[name] !== undefined) return false;
  const forwarded = headers['x-forwarded-host'];
  // Whether the proxy is trusted does not matter where both names are allowed.
  const known = forwarded === undefined || (typeof forwarded === 'string' && guard.knows(forwarded));
  return known && guard.knows(headers.host);
}

/** Names and values in one list, which Node writes out without making an object of it first. */
function flatten(route: FastRoute, { text, etag }: ReadyAnswer): readonly string[] {
  const length = String(Buffer.byteLength(text));
  return Object.entries({ ...commonHeaders, ...route.headers, etag, 'content-length': length }).flat();
}

/** Puts the lane in front of what answers requests otherwise. */
export function openFastLane(
  route: FastRoute,
  { guard, authenticate, requestRates, isStopping, nextId, logger }: FastLaneOptions,
  answerUsually: RequestListener,
): RequestListener {
  const heads = new WeakMap<ReadyAnswer, readonly string[]>();
  const logs = logger.isLevelEnabled('debug');

  function findPrincipal(headers: IncomingHttpHeaders): Principal | undefined {
    const sent = sentCredential(headers, true);
    const principal = sent && authenticate(sent.text, sent.via);
    if (principal instanceof Promise) {
      // The usual way waits for the same look-up, and answers where it fails.
      principal.catch(() => {});
      return undefined;
    }
    return principal?.scopes.has(route.scope) ? principal : undefined;
  }

  function headOf(answer: ReadyAnswer): readonly string[] {
    let head = heads.get(answer);
    if (head === undefined) {
      head = flatten(route, answer);
      heads.set(answer, head);
    }
    return head;
  }

  function tryFast({ headers }: IncomingMessage, response: ServerResponse): boolean {
    if (isStopping() || !isPlain(headers, guard)) return false;
    const principal = findPrincipal(headers);
    const answer = principal && route.find(principal);
    // The token is taken last: what goes the usual way takes its own there.
    if (answer === undefined || requestRates.take(principal?.keyId ?? '') !== undefined) return false;
    const id = nextId();
    response.writeHead(200, [...headOf(answer), 'x-request-id', id]);
    response.end(answer.text);
    boundUnread(response);
    if (logs) logger.debug({ request_id: id, method: 'GET', route: route.url, status: 200 }, 'request');
    return true;
  }

  return (request, response) => {
    const asked = request.method === 'GET' && request.url === route.url;
    if (!asked || !tryFast(request, response)) answerUsually(request, response);
  };
}

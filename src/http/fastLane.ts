// The shortest way for the two requests that are asked a million times: they skip the framework. Whatever is not
// plain (another origin, a condition, an unknown key, a limit) takes the usual way, where all rules are.
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';
import { type Authenticate, type SentCredential, sentCredential } from './authentication.ts';
import type { Guard } from './guard.ts';
import type { LaneRequest } from './laneRequest.ts';

/** One method of one URL. */
export interface FastRoute {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly scope: Scope;
  readonly bearer: boolean;
  /** Takes the request over, or returns false and has not touched it. */
  readonly take: (asked: Asked, lane: Lane) => boolean;
}

export interface Asked {
  readonly principal: Principal;
  readonly request: LaneRequest;
  readonly response: ServerResponse;
}

export interface Lane {
  readonly nextId: () => string;
  /** Who is answered from then on is told to come back on another connection. */
  readonly isStopping: () => boolean;
  /** For a request that turns out to be less plain than it looked. */
  readonly answerUsually: (request: IncomingMessage, response: ServerResponse) => void;
}

interface FastLaneOptions {
  readonly guard: Guard;
  readonly authenticate: Authenticate;
  readonly isStopping: () => boolean;
  readonly nextId: () => string;
}

/** On a socket: cheaper than a map of them, which the garbage collector would have to walk. */
const lastPlain = Symbol('last plain request');

type KnownSocket = Socket & { [lastPlain]?: Plain };

/** What a connection sent with its last plain request. */
interface Plain {
  readonly headers: IncomingHttpHeaders;
  readonly sent: SentCredential;
}

/** Puts the lane in front of what answers requests now. */
export function openFastLane(
  server: Server,
  routes: readonly FastRoute[],
  { guard, authenticate, isStopping, nextId }: FastLaneOptions,
): void {
  const usualWay = server.listeners('request') as Lane['answerUsually'][];
  const lane: Lane = {
    nextId,
    isStopping,
    answerUsually: (request, response) => {
      for (const listener of usualWay) listener.call(server, request, response);
    },
  };

  /** What a plain request sent. Clients repeat themselves, and reading headers costs time. */
  function readPlain(request: LaneRequest): Plain | undefined {
    const { headers } = request;
    const socket: KnownSocket = request.socket;
    const last = socket[lastPlain];
    if (last?.headers === headers) return last;
    const { host, origin, 'if-none-match': condition } = headers;
    if (origin !== undefined || condition !== undefined || !guard.knows(host)) return undefined;
    const sent = sentCredential(headers, true);
    if (sent === undefined) return undefined;
    socket[lastPlain] = { headers, sent };
    return socket[lastPlain];
  }

  function findPrincipal(sent: SentCredential, route: FastRoute): Principal | undefined {
    if (sent.via === 'bearer' && !route.bearer) return undefined;
    const principal = authenticate(sent.text, sent.via);
    if (principal instanceof Promise) {
      // The usual way waits for the same look-up, and answers where it fails.
      principal.catch(() => {});
      return undefined;
    }
    return principal?.scopes.has(route.scope) ? principal : undefined;
  }

  function tryFast(request: LaneRequest, response: ServerResponse): boolean {
    const { method, url } = request;
    for (const route of routes) {
      if (url !== route.url || method !== route.method || isStopping()) continue;
      const plain = readPlain(request);
      if (plain === undefined) return false;
      const principal = findPrincipal(plain.sent, route);
      return principal !== undefined && route.take({ principal, request, response }, lane);
    }
    return false;
  }

  server.removeAllListeners('request');
  server.on('request', (request: LaneRequest, response: ServerResponse) => {
    if (!tryFast(request, response)) lane.answerUsually(request, response);
  });
}

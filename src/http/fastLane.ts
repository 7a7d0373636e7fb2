// The shortest way to an answer that is ready: one path, asked a million times, skips the framework. Whatever is
// not plain (another origin, a condition, an unknown key, a limit) takes the usual way, where all rules are.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Principal } from '../keys/principal.ts';
import type { Scope } from '../keys/schema.ts';
import { type Authenticate, sentCredential } from './authentication.ts';
import type { Guard } from './guard.ts';

/** A ready answer; the same object as long as it stays the same. */
export interface ReadyAnswer {
  readonly text: string;
  readonly etag: string;
}

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
  readonly isStopping: () => boolean;
  readonly nextId: () => string;
  readonly commonHeaders: Readonly<Record<string, string>>;
}

/** Puts the lane in front of what answers requests now. */
export function openFastLane(server: Server, route: FastRoute, options: FastLaneOptions): void {
  const { guard, authenticate, isStopping, nextId, commonHeaders } = options;
  const heads = new WeakMap<ReadyAnswer, readonly string[]>();
  const usualWay = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];

  function headOf(answer: ReadyAnswer): readonly string[] {
    let head = heads.get(answer);
    if (head === undefined) {
      const headers = { ...commonHeaders, ...route.headers, etag: answer.etag };
      head = [...Object.entries(headers).flat(), 'content-length', String(Buffer.byteLength(answer.text))];
      heads.set(answer, head);
    }
    return head;
  }

  function find({ url, method, headers }: IncomingMessage): ReadyAnswer | undefined {
    if (url !== route.url || method !== 'GET' || isStopping()) return undefined;
    const { host, origin, 'if-none-match': condition } = headers;
    if (origin !== undefined || condition !== undefined || !guard.knows(host)) return undefined;
    const sent = sentCredential(headers, true);
    const principal = sent && authenticate(sent.text, sent.via);
    if (principal instanceof Promise) {
      // The usual way waits for the same look-up, and answers where it fails.
      principal.catch(() => {});
      return undefined;
    }
    return principal?.scopes.has(route.scope) ? route.find(principal) : undefined;
  }

  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const answer = find(request);
    if (answer === undefined) {
      for (const answerUsually of usualWay) answerUsually.call(server, request, response);
      return;
    }
    response.writeHead(200, [...headOf(answer), 'x-request-id', nextId()]);
    response.end(answer.text);
  });
}

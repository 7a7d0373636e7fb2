// The one way out of a sandbox: an HTTP server of the host that programs inside reach on their own loopback. What
// needs a key of the user gets it here, outside.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { isShown } from './token.ts';

/** Answers what comes under one first segment of the path. `rest` is what follows it, with the query. */
export type BridgeHandler = (request: IncomingMessage, response: ServerResponse, rest: string) => void;

/** Answers requests for other servers: CONNECT, and plain ones in their absolute form. */
export interface Egress {
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  forward(request: IncomingMessage, response: ServerResponse): void;
}

interface BridgeOptions {
  /** By first segment: `git`, `mcp`, `model`. */
  readonly handlers: Readonly<Record<string, BridgeHandler>>;
  /** Absent: nothing else can be reached. */
  readonly egress?: Egress;
}

export interface Bridge {
  /** What a program inside must show, as a bearer token, as an API key, or to the proxy. */
  readonly token: string;
  /** Serves a listener that was opened in a sandbox. */
  take(listener: Server): void;
  /** Serves a port of the host's loopback, for sandboxes without a network of their own. Returns the port. */
  listen(): Promise<number>;
  close(): Promise<void>;
}

const tokenBytes = 32;
const connectionsMax = 256;

export function refuse(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${sentence}\n`);
}

export function createBridge({ handlers, egress }: BridgeOptions): Bridge {
  const token = `pr_${randomBytes(tokenBytes).toString('base64url')}`;
  const listeners = new Set<Server>();
  let listening: Promise<number> | undefined;

  const server = createServer((request, response) => {
    if (!isShown(request, token)) return refuse(response, 401, 'The token of this run is missing.');
    const url = request.url ?? '';
    if (!url.startsWith('/')) {
      if (egress === undefined) return refuse(response, 403, 'This run has no way to other servers.');
      return egress.forward(request, response);
    }
    const [, segment = '', rest = ''] = /^\/([a-z]+)(.*)$/s.exec(url) ?? [];
    const handler = Object.hasOwn(handlers, segment) ? handlers[segment] : undefined;
    if (handler === undefined) return refuse(response, 404, 'There is nothing here.');
    handler(request, response, rest);
  });
  server.maxConnections = connectionsMax;
  server.on('connect', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (!isShown(request, token)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n');
      return;
    }
    if (egress === undefined) socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    else egress.connect(request, socket, head);
  });

  return {
    token,
    take: (listener) => {
      listeners.add(listener);
      listener.on('connection', (socket) => server.emit('connection', socket));
    },
    listen: () => {
      listening ??= new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
      });
      return listening;
    },
    close: async () => {
      for (const listener of listeners) listener.close();
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

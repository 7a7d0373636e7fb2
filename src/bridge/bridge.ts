// The one way out of a sandbox: an HTTP server of the host that programs inside reach on their own loopback. What
// needs a key of the user gets it here, outside.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hasToken } from './token.ts';

/** Answers what comes under one first segment of the path. `rest` is what follows it, with the query. */
export type BridgeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  rest: string,
) => void | Promise<void>;

/** Answers requests for other servers: CONNECT, and plain ones in their absolute form. */
export interface Egress {
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  forward(request: IncomingMessage, response: ServerResponse): void;
}

interface BridgeOptions {
  /** By first segment: `git`, `mcp`, `model`. */
  readonly handlers: Readonly<Record<string, BridgeHandler>>;
  /** Absent: nothing else can be reached. */
  readonly egress?: Egress | undefined;
  /** A connection that has not sent its first headers by then is closed. */
  readonly headersMs?: number;
  /** Told of what a handler throws; the program inside only learns that it failed. */
  readonly onError?: (error: unknown) => void;
}

export interface Bridge {
  /** What a program inside must show, as a bearer token, as an API key, or to the proxy. */
  readonly token: string;
  /** Serves a listener that was opened in a sandbox. What is returned closes it. */
  take(listener: Server): () => void;
  /** Serves a port of the host's loopback, for sandboxes without a network of their own. Returns the port. */
  listen(): Promise<number>;
  /** Serves a socket of the host. Only one of `listen` and `listenAt` can be used. */
  listenAt(path: string): Promise<void>;
  /** Ends every connection, and whatever came over one with it. */
  close(): Promise<void>;
}

const tokenBytes = 32;
/** Of a run, over all of its listeners. More are closed at once. */
const connectionsMax = 256;
const headersMsDefault = 30_000;
/** A model may think for minutes before it says a word. */
const silenceMsMax = 15 * 60_000;

export function refuse(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${sentence}\n`);
}

/** Keeps the sockets, whichever listener they came from: a server that does not listen itself forgets them. */
function keepSockets(headersMs: number) {
  const sockets = new Set<Socket>();
  const waiting = new WeakMap<Duplex, NodeJS.Timeout>();
  return {
    add: (socket: Socket) => {
      if (sockets.size >= connectionsMax) return socket.destroy();
      sockets.add(socket);
      waiting.set(
        socket,
        setTimeout(() => socket.destroy(), headersMs),
      );
      socket.on('error', () => socket.destroy());
      return socket.once('close', () => {
        clearTimeout(waiting.get(socket));
        sockets.delete(socket);
      });
    },
    /** Its first headers have come. */
    heard: (socket: Duplex) => clearTimeout(waiting.get(socket)),
    destroyAll: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

export function createBridge(options: BridgeOptions): Bridge {
  const { handlers, egress, headersMs = headersMsDefault, onError = () => {} } = options;
  const token = `pr_${randomBytes(tokenBytes).toString('base64url')}`;
  const listeners = new Set<Server>();
  const sockets = keepSockets(headersMs);
  let listening: Promise<void> | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    sockets.heard(request.socket);
    if (!hasToken(request, token)) return refuse(response, 401, 'The token of this run is missing.');
    const url = request.url ?? '';
    if (!url.startsWith('/')) {
      if (egress === undefined) return refuse(response, 403, 'This run has no way to other servers.');
      return egress.forward(request, response);
    }
    const [, segment = '', rest = ''] = /^\/([a-z]+)(.*)$/s.exec(url) ?? [];
    const handler = Object.hasOwn(handlers, segment) ? handlers[segment] : undefined;
    if (handler === undefined) return refuse(response, 404, 'There is nothing here.');
    return handler(request, response, rest);
  }

  const server = createServer((request, response) => {
    // What nobody listens for would end the service.
    response.on('error', () => response.destroy());
    answer(request, response).catch((error: unknown) => {
      onError(error);
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'The bridge failed.');
    });
  });
  server.timeout = silenceMsMax;
  server.on('connection', sockets.add);
  server.on('error', onError);
  server.on('clientError', (_, socket) => socket.destroy());
  server.on('connect', (request, socket, head) => {
    sockets.heard(socket);
    if (!hasToken(request, token)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n');
      return;
    }
    if (egress === undefined) socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    else egress.connect(request, socket, head);
  });

  const listenOn = (where: object) => {
    listening ??= new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(where, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return listening;
  };

  return {
    token,
    take: (listener) => {
      listeners.add(listener);
      // A request may come whole before its answer is wanted.
      Object.assign(listener, { allowHalfOpen: true, maxConnections: connectionsMax });
      listener.on('error', () => {});
      listener.on('connection', (socket) => {
        // As for a listener of its own: or else each piece of an answer waits 40 ms for the one before to be confirmed.
        socket.setNoDelay(true);
        server.emit('connection', socket);
      });
      return () => {
        listeners.delete(listener);
        listener.close();
      };
    },
    listen: async () => {
      await listenOn({ port: 0, host: '127.0.0.1' });
      return (server.address() as AddressInfo).port;
    },
    listenAt: (path) => listenOn({ path }),
    close: async () => {
      for (const listener of listeners) listener.close();
      listeners.clear();
      sockets.destroyAll();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

// The only way out of a sandbox: an HTTP server on the host that programs inside reach on their own loopback interface.
// The user's keys are added here, outside of the sandbox.
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { hasToken } from './token.ts';

/** Handles requests below one first path segment. `rest` is what follows it, with the query. */
export type BridgeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  rest: string,
) => void | Promise<void>;

/** Handles requests for other servers: CONNECT, and plain requests in absolute form. */
export interface Egress {
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  forward(request: IncomingMessage, response: ServerResponse): void;
}

interface BridgeOptions {
  /** By first path segment: `git`, `mcp`, `model`. */
  readonly handlers: Readonly<Record<string, BridgeHandler>>;
  /** Without it, no other server can be reached. */
  readonly egress?: Egress | undefined;
  /** A connection that has not sent its first headers by then is closed. */
  readonly headersMs?: number;
  /** Called with errors of handlers. The program inside only learns that its request failed. */
  readonly onError?: (error: unknown) => void;
}

export interface Bridge {
  /** The token that programs inside must send, as a bearer token, as an API key, or to the proxy. */
  readonly token: string;
  /** Serves a listener that was opened in a sandbox. Returns a function that closes it. */
  take(listener: Server): () => void;
  /** Serves a connection that comes over another stream. */
  accept(connection: Duplex): void;
  /** Serves a port on the host's loopback interface, for sandboxes without their own network. Returns the port. */
  listen(): Promise<number>;
  /** Serves a socket on the host. Only one of `listen` and `listenAt` can be used. */
  listenAt(path: string): Promise<void>;
  /** Closes every connection, and aborts its requests. */
  close(): Promise<void>;
}

const tokenBytes = 32;
/** Per run, over all its listeners. More connections are closed at once. */
const connectionsMax = 256;
const headersMsDefault = 30_000;
/** A model may think for minutes before it answers. */
const silenceMsMax = 15 * 60_000;

export function refuse(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${sentence}\n`);
}

/** Tracks the sockets of all listeners, because a server that does not listen itself does not. */
function keepSockets(headersMs: number) {
  const sockets = new Set<Duplex>();
  const waiting = new WeakMap<Duplex, NodeJS.Timeout>();
  return {
    add: (socket: Duplex) => {
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
    /** Called when the first headers have arrived. */
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
  let isClosed = false;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    sockets.heard(request.socket);
    if (!hasToken(request, token)) return refuse(response, 401, 'The token of this run is missing.');
    const url = request.url ?? '';
    if (!url.startsWith('/')) {
      if (egress === undefined) return refuse(response, 403, 'This run has no network access.');
      return egress.forward(request, response);
    }
    const [, segment = '', rest = ''] = /^\/([a-z]+)(.*)$/s.exec(url) ?? [];
    const handler = Object.hasOwn(handlers, segment) ? handlers[segment] : undefined;
    if (handler === undefined) return refuse(response, 404, 'There is nothing here.');
    return handler(request, response, rest);
  }

  const server = createServer((request, response) => {
    // An unhandled error would end the service.
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
      // A client may close its side before it reads the response.
      Object.assign(listener, { allowHalfOpen: true, maxConnections: connectionsMax });
      listener.on('error', () => {});
      listener.on('connection', (socket) => {
        // As on a listener of Node's own. Otherwise each piece of a response waits 40 ms for the acknowledgement of the
        // previous one.
        socket.setNoDelay(true);
        server.emit('connection', socket);
      });
      return () => {
        listeners.delete(listener);
        listener.close();
      };
    },
    accept: (connection) => {
      if (isClosed) connection.destroy();
      else server.emit('connection', connection);
    },
    listen: async () => {
      await listenOn({ port: 0, host: '127.0.0.1' });
      return (server.address() as AddressInfo).port;
    },
    listenAt: (path) => listenOn({ path }),
    close: async () => {
      isClosed = true;
      for (const listener of listeners) listener.close();
      listeners.clear();
      sockets.destroyAll();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

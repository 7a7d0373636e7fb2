// ACP over WebSocket. Each connection uses the API of this process with the key of its client, like `parley acp`, so that
// scopes, limits and revoked keys count as in any other request.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Agent, fetch as directFetch } from 'undici';
import { type WebSocket, WebSocketServer } from 'ws';
import { createParley, type Fetch } from '../client/parley.ts';
import { createConnectionLimit } from '../keys/connectionLimit.ts';
import type { Principal } from '../keys/principal.ts';
import { mib } from '../validation/schema.ts';
import { createAcpApp } from './app.ts';
import { guardStream, type RequestBytes } from './guardedStream.ts';
import { socketStream } from './socketStream.ts';

const connectionsMax = 1_000;
const connectionsPerUserMax = 100;
/** As for the body of a request: a prompt may contain images. */
const messageBytesMax = 16 * mib;
const pingMs = 30_000;
const goingAway = 1_001;
const policyViolation = 1_008;
/** How long clients may take to close their connection when the service stops. */
const closeMsMax = 1_000;

interface SocketsOptions {
  readonly version: string;
  /** The URL of this process. */
  readonly ownUrl: () => string;
  readonly onBackgroundError: (error: Error) => void;
}

export type AcpSockets = ReturnType<typeof createAcpSockets>;

export function createAcpSockets({ version, ownUrl, onBackgroundError }: SocketsOptions) {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: messageBytesMax,
    perMessageDeflate: false,
  });
  // Requests to this process never go through a proxy.
  const dispatcher = new Agent();
  const fetch: Fetch = async (url, init) =>
    (await directFetch(url, { ...(init as object), dispatcher })) as unknown as Response;
  const connections = createConnectionLimit({
    what: 'ACP connections',
    max: connectionsMax,
    perUserMax: connectionsPerUserMax,
  });
  /** Those that have answered the latest ping. */
  const answered = new WeakSet<WebSocket>();
  const total: RequestBytes = { used: 0 };

  server.on('headers', (headers) => headers.push(`Acp-Connection-Id: ${randomUUID()}`));

  const pings = setInterval(() => {
    for (const socket of server.clients) {
      if (!answered.delete(socket)) socket.terminate();
      else socket.ping();
    }
  }, pingMs).unref();

  async function serve(socket: WebSocket, key: string | undefined): Promise<void> {
    const parley = createParley({ url: ownUrl(), key, fetch });
    const { app, close, ended } = createAcpApp({ parley, version });
    ended.then(() => socket.close(policyViolation, 'The API key is no longer valid.'));
    const stream = socketStream(socket);
    const connection = app.connect(guardStream(stream, { bytesOf: stream.bytesOf, total }));
    await connection.closed.finally(close);
  }

  return {
    /** Counts the connection until it closes. Throws if too many are open. */
    count: (principal: Principal, connection: IncomingMessage['socket']): void => {
      const release = connections.open(principal);
      if (connection.destroyed) release();
      else connection.once('close', release);
    },
    handleUpgrade: (request: IncomingMessage, head: Buffer, key: string | undefined): void => {
      server.handleUpgrade(request, request.socket, head, (socket) => {
        answered.add(socket);
        socket.on('pong', () => answered.add(socket));
        // A broken connection also closes.
        socket.on('error', () => {});
        serve(socket, key).catch((error: Error) => {
          if (socket.readyState === socket.OPEN) onBackgroundError(error);
          socket.terminate();
        });
      });
    },
    close: async (): Promise<void> => {
      clearInterval(pings);
      for (const socket of server.clients) socket.close(goingAway, 'The service stops.');
      setTimeout(() => {
        for (const socket of server.clients) socket.terminate();
        void dispatcher.destroy();
      }, closeMsMax).unref();
    },
  };
}

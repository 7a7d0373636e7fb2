// Limits what clients may send over socket.io: little before their API key is accepted, and later neither more than
// memory holds nor so many packets that other requests have to wait.
import type { IncomingMessage } from 'node:http';
import type { Server as Engine, Socket as EngineSocket } from 'engine.io';
import { AppError } from '../errors.ts';
import { bodyBytesMax, mib } from '../validation/schema.ts';

/** Connections whose API key is not accepted yet. */
const handshakesMax = 5_000;
/** Enough for a handshake. */
const bytesBeforeAcceptedMax = 16_384;
/** All messages that have not arrived completely, of all clients. */
const unfinishedBytesMax = 128 * mib;
const packetsPerSecondMax = 1_000;
/** Packets for a client that does not read them. */
const unsentPacketsMax = 10_000;

/** Requests that engine.io has made to WebSockets. */
type Upgraded = IncomingMessage & { readonly websocket?: { on(event: 'ping', listener: () => void): void } };

const tooLarge = new AppError('body_too_large', 'The body is larger than 16 MiB.');
const tooLargeBefore = new AppError('body_too_large', 'The body is too large for a handshake.');
const lengthMissing = new AppError('malformed_request', 'The request has no Content-Length header.');
const tooManyHandshakes = new AppError('overloaded', 'Too many sockets are being opened; try again.', {
  retryAfterS: 1,
});
const overloaded = new AppError('overloaded', 'Too many large messages at once; try again.', {
  retryAfterS: 1,
});

export function createReceiveLimits(engine: Engine, unfinishedMax = unfinishedBytesMax) {
  const accepted = new WeakSet<EngineSocket>();
  const firstRequests = new WeakMap<IncomingMessage, EngineSocket>();
  const bytesBefore = new WeakMap<object, number>();
  let unfinished = 0;
  let handshakes = 0;

  engine.on('connection', (connection: EngineSocket) => {
    firstRequests.set(connection.request, connection);
    handshakes += 1;
    connection.once('close', () => {
      if (!accepted.has(connection)) handshakes -= 1;
    });
    const isTooFast = createPacketCounter();
    let unsent = 0;
    connection.on('packet', () => {
      if (isTooFast()) connection.close(true);
    });
    connection.on('packetCreate', () => {
      if (++unsent > unsentPacketsMax) connection.close(true);
    });
    connection.on('drain', () => {
      unsent = 0;
    });
  });

  function connectionOf(request: IncomingMessage): EngineSocket | undefined {
    const [, query = ''] = /\?(.*)/.exec(request.url ?? '') ?? [];
    const sid = new URLSearchParams(query).get('sid');
    if (sid === null) return firstRequests.get(request);
    const clients = (engine as unknown as { clients: Record<string, EngineSocket> }).clients;
    return Object.hasOwn(clients, sid) ? clients[sid] : undefined;
  }

  /** Counts bytes that came before the API key was accepted. Returns false if there are too many. */
  function takeBefore(from: object, bytes: number): boolean {
    const sum = (bytesBefore.get(from) ?? 0) + bytes;
    bytesBefore.set(from, sum);
    return sum <= bytesBeforeAcceptedMax;
  }

  function accept(connection: EngineSocket): void {
    accepted.add(connection);
    handshakes -= 1;
  }

  /** Throws if too many connections are open, or if the body is too large. Counts it until the response is closed. */
  function checkRequest(request: IncomingMessage, onClose: (listener: () => void) => void): void {
    const connection = connectionOf(request);
    if (connection === undefined && handshakes >= handshakesMax) throw tooManyHandshakes;
    if (request.method !== 'POST') return;
    const bytes = Number(request.headers['content-length'] ?? Number.NaN);
    if (Number.isNaN(bytes)) throw lengthMissing;
    if (connection === undefined || !accepted.has(connection)) {
      if (!takeBefore(connection ?? request, bytes)) throw tooLargeBefore;
      return;
    }
    if (bytes > bodyBytesMax) throw tooLarge;
    if (unfinished + bytes > unfinishedMax) throw overloaded;
    unfinished += bytes;
    onClose(() => {
      unfinished -= bytes;
    });
  }

  /** Closes a WebSocket that sends too much. Called once engine.io reads from it. */
  function watchUpgraded(request: Upgraded): void {
    const { socket, websocket } = request;
    const isTooFast = createPacketCounter();
    let watched: EngineSocket | undefined;
    let bytes = 0;
    const finish = () => {
      unfinished -= bytes;
      bytes = 0;
    };
    // Before engine.io handles the data, so that a packet that is complete counts as finished.
    socket.prependListener('data', (chunk: Buffer) => {
      const connection = connectionOf(request);
      if (connection === undefined || !accepted.has(connection)) {
        if (!takeBefore(connection ?? request, chunk.length)) socket.destroy();
        return;
      }
      if (watched === undefined) connection.on('packet', finish);
      watched = connection;
      bytes += chunk.length;
      unfinished += chunk.length;
      // A client that goes on sending after it was disconnected would cost as much as before.
      if (unfinished > unfinishedMax || connection.readyState !== 'open') socket.destroy();
    });
    websocket?.on('ping', () => {
      if (isTooFast()) socket.destroy();
    });
    socket.once('close', () => {
      finish();
      watched?.off('packet', finish);
    });
  }

  return { accept, checkRequest, watchUpgraded };
}

/** Returns a function that counts a packet, and returns true if there are too many in a second. */
function createPacketCounter(): () => boolean {
  let [since, count] = [0, 0];
  return () => {
    const now = performance.now();
    if (now - since >= 1_000) [since, count] = [now, 0];
    return ++count > packetsPerSecondMax;
  };
}

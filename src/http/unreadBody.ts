// Reads and discards the rest of a request body before the connection is closed. Otherwise the client, still sending,
// would get a connection reset instead of the response.
import type { IncomingMessage, ServerResponse } from 'node:http';

const restBytesMax = 64 * 1_024 * 1_024;
const restMs = 5_000;

/** Calls back when the body has been read, is too large, or takes too long. */
export function discardBody(request: IncomingMessage, done: () => void): void {
  if (request.complete || request.destroyed) {
    done();
    return;
  }
  let bytes = 0;
  const late = setTimeout(finish, restMs);

  function count(chunk: Buffer): void {
    bytes += chunk.length;
    if (bytes > restBytesMax) finish();
  }

  function finish(): void {
    clearTimeout(late);
    request.off('data', count).off('end', finish).off('close', finish);
    done();
  }

  request.on('data', count).on('end', finish).on('close', finish);
  request.resume();
}

/**
 * Closes the connection some time after the response if the body was not read. A client that reads responses while it
 * sends gets the response at once; the rest of the time is for those that do not.
 */
export function closeAfterResponse(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return;
  response.once('finish', () =>
    discardBody(request, () => {
      if (!request.complete) request.socket.destroy();
    }),
  );
}

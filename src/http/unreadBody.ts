// An answer that closes its connection while the client still sends is lost: the system resets the connection, and the
// client sees a broken pipe. So what remains of the body is read first, within bounds, and thrown away.
import type { IncomingMessage } from 'node:http';

const restBytesMax = 64 * 1_024 * 1_024;
const restMs = 5_000;

/** Calls back once the rest of the body is here, or is too much, or takes too long. */
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

// An end for connections on which nothing moves, whatever they wait for.
import type { Socket } from 'node:net';

const stalledMs = 120_000;

/** Until its request is answered. Not for all of them from the start: it costs as much as the rest of a fast answer. */
export function boundStall(socket: Socket): void {
  socket.setTimeout(stalledMs);
}

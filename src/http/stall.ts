// An end for connections on which nothing moves, whatever they wait for.
import type { Socket } from 'node:net';

const stalledMs = 120_000;

/** Until its request is answered. Only where it may stall: a timer for each request shows in the rate of fast answers. */
export function boundStall(socket: Socket): void {
  socket.setTimeout(stalledMs);
}

/** The same, where the client has not read all that it was sent. */
export function boundUnread(socket: Socket | null): void {
  if (socket !== null && socket.writableLength > 0) boundStall(socket);
}

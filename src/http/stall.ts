// An end for connections on which nothing moves, whatever they wait for.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const stalledMs = 120_000;

/** Until its request is answered. Only where it may stall: a timer for each request shows in the rate of fast answers. */
export function boundStall(socket: Socket): void {
  socket.setTimeout(stalledMs);
}

/** For an answer that was given to Node: bounds it where the client has not read all before it, or not all of it. */
export function boundUnread(response: ServerResponse): void {
  const { socket } = response.req;
  // Behind other answers it has no socket yet.
  if (response.socket === null || socket.writableLength > 0) boundStall(socket);
}

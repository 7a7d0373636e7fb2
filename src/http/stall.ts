// Closes connections on which nothing moves, whatever they wait for.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const stalledMs = 120_000;

/**
 * Applies until the request is answered. It is set only for slow responses, because a timer per request would slow down
 * fast ones.
 */
export function boundStall(socket: Socket): void {
  socket.setTimeout(stalledMs);
}

/** Limits a response that the client has not read completely, or that waits behind others. */
export function boundUnread(response: ServerResponse): void {
  const { socket } = response.req;
  // A response that waits behind others has no socket yet.
  if (response.socket === null || socket.writableLength > 0) boundStall(socket);
}

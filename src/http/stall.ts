// Closes connections on which nothing moves, whatever they wait for.
import type { Socket } from 'node:net';

const stalledMs = 120_000;

/**
 * Applies until the request is answered. It is set only for slow responses, because a timer per request would slow down
 * fast ones.
 */
export function boundStall(socket: Socket): void {
  socket.setTimeout(stalledMs);
}

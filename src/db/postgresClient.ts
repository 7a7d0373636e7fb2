// A PostgreSQL client that cannot end the process, and that can always be closed.
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

const endTimeoutMs = 5_000;

/** What `ended` comes to; where that takes too long, the sockets of these clients are destroyed. */
export async function endWithin(ended: Promise<unknown>, clients: Iterable<GuardedClient>): Promise<void> {
  const timer = new AbortController();
  // A peer on a dead network never says goodbye.
  const late = pause(endTimeoutMs, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([ended, late]);
  timer.abort();
  for (const { socket } of clients) socket.destroy();
}

/**
 * A connection that breaks rejects its query, if it has one, and is no reason to end the process. The listener is there
 * from the start: the pool's own is missing while a client changes hands, and an error can arrive in the same packet as
 * the greeting.
 */
export class GuardedClient extends pg.Client {
  readonly socket: Socket;

  constructor(config: pg.ClientConfig = {}) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.socket = socket;
    this.on('error', () => {});
  }
}

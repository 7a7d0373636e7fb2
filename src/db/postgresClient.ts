// A PostgreSQL client whose errors never crash the process, and which can be closed even if the network is dead.
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

const endTimeoutMs = 5_000;

/** Waits for `ended`, but not longer than `endTimeoutMs`, then destroys the sockets of the clients. */
export async function endWithin(ended: Promise<unknown>, clients: Iterable<GuardedClient>): Promise<void> {
  const timer = new AbortController();
  // A server behind a dead network never closes the connection.
  const late = pause(endTimeoutMs, undefined, { signal: timer.signal }).catch(() => {});
  await Promise.race([ended, late]);
  timer.abort();
  for (const { socket } of clients) socket.destroy();
}

/**
 * Ignores connection errors: a pending query is rejected anyway, and an unheard `error` event would end the process.
 * The pool's own listener is not enough, because it is missing while a client is handed over.
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

// A proxy that understands the messages of the PostgreSQL protocol, so that a test can join, split, hold or cut them at
// any step of a conversation between the service and the database.
import { connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  createMessageReader,
  createSession,
  type PostgresMessage,
  type PostgresSession,
} from './postgresMessages.ts';

/**
 * What becomes of a message. `cut`: it is not delivered, and the connection is reset. `cutAfter`: it is delivered, then
 * the connection is reset. `join`: it arrives in one packet with the next of its direction. `hold`: it and what follows
 * it in its direction waits for `release`.
 */
export type Verdict = 'pass' | 'cut' | 'cutAfter' | 'join' | 'hold';
export type Rule = (message: PostgresMessage) => Verdict;

export interface PostgresProxy {
  /** The URL of the database, through the proxy. */
  readonly url: string;
  /** From now on, decides about every message. */
  rule(rule: Rule): void;
  /** Lets everything through, and what is held. */
  release(): void;
  /** Delivers every byte in a packet of its own. */
  split(splitting: boolean): void;
}

const passAll: Rule = () => 'pass';

/** One direction of one connection: delivers in order, one write after another. */
function createDirection(target: Socket, isSplit: () => boolean) {
  const waiting: Buffer[] = [];
  let joined: Buffer[] = [];
  let pumping = false;
  let held = false;
  let ending = false;

  async function pump(): Promise<void> {
    if (pumping) return;
    pumping = true;
    while (!held && waiting.length > 0) {
      const bytes = waiting.shift() as Buffer;
      if (!isSplit()) target.write(bytes);
      else
        for (const byte of bytes) {
          target.write(Buffer.of(byte));
          await nextTurn();
        }
    }
    pumping = false;
    if (ending && !held) target.end();
  }

  function flush(): void {
    if (joined.length > 0) waiting.push(Buffer.concat(joined));
    joined = [];
    void pump();
  }

  return {
    hold: () => {
      held = true;
    },
    release: () => {
      held = false;
      void pump();
    },
    deliver: (bytes: Buffer, verdict: Verdict) => {
      joined.push(bytes);
      if (verdict !== 'join') flush();
    },
    /** Once everything is delivered, also what is held now. */
    end: () => {
      ending = true;
      flush();
    },
  };
}

export async function startPostgresProxy(
  databaseUrl: string,
  t: { after(fn: () => Promise<void>): void },
): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  const directions = new Set<ReturnType<typeof createDirection>>();
  const target = new URL(databaseUrl);
  let rule = passAll;
  let splitting = false;
  let count = 0;

  function link(from: Socket, to: Socket, side: PostgresMessage['from'], session: PostgresSession): void {
    const direction = createDirection(to, () => splitting);
    const read = createMessageReader(side, session);
    directions.add(direction);
    from.on('data', (data: Buffer) => {
      for (const message of read(data)) {
        if (from.destroyed || to.destroyed) return;
        const verdict = rule(message);
        if (verdict === 'hold') direction.hold();
        if (verdict !== 'cut') direction.deliver(message.bytes, verdict);
        if (verdict === 'cut') to.resetAndDestroy();
        // What was written still arrives: only the side that the answer would go to is reset.
        if (verdict === 'cutAfter' || verdict === 'cut') {
          to.end();
          from.resetAndDestroy();
        }
      }
    });
    from.on('end', direction.end);
    from.on('close', direction.end);
    to.on('close', () => directions.delete(direction));
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const database = connect({ host: target.hostname, port: Number(target.port), allowHalfOpen: true });
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    count += 1;
    const session = createSession(count);
    link(client, database, 'client', session);
    link(database, client, 'server', session);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  const url = new URL(databaseUrl);
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    rule: (next) => {
      rule = next;
    },
    release: () => {
      rule = passAll;
      for (const direction of directions) direction.release();
    },
    split: (value) => {
      splitting = value;
    },
  };
}

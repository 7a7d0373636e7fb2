// A TCP proxy between the service and PostgreSQL whose connections can be cut and stalled.
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface DatabaseProxy {
  /** The URL of the database through the proxy. */
  readonly url: string;
  /** Cuts every connection and refuses new ones. */
  shut(): Promise<void>;
  open(): Promise<void>;
  /** Keeps connections open without forwarding anything. */
  stall(): void;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

export async function createDatabaseProxy(
  databaseUrl: string,
  t: { after(fn: () => Promise<void>): void },
): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let stalled = false;
  let server = createDatabaseProxyServer();

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  }

  function createDatabaseProxyServer(): Server {
    return createServer((near) => {
      const far = connect({ host: target.hostname, port: Number(target.port) });
      keep(near);
      keep(far);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('data', (bytes) => stalled || to.write(bytes));
        from.on('close', () => to.destroy());
      }
    });
  }

  const port = await listen(server, 0);
  const url = new URL(databaseUrl);
  url.port = String(port);

  async function shut(): Promise<void> {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  }

  t.after(shut);
  return {
    url: url.href,
    shut,
    open: async () => {
      stalled = false;
      server = createDatabaseProxyServer();
      await listen(server, port);
    },
    stall: () => {
      stalled = true;
    },
  };
}

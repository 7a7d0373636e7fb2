// A proxy between a client and the service that breaks connections as a network does.
import { connect, createServer, type Socket } from 'node:net';

export interface CutProxy {
  readonly url: string;
  /** The number of connections so far. */
  made(): number;
  /** Breaks all connections. */
  cut(): void;
  /** Breaks each connection after this many bytes to the client; Infinity for none. */
  cutAfter(bytes: number): void;
  /** Breaks each new connection at once. */
  refuse(refusing: boolean): void;
  /** Drops everything from the service without closing the connection. */
  silence(silent: boolean): void;
}

export async function startCutProxy(
  target: string,
  t: { after(fn: () => Promise<void>): void },
): Promise<CutProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let [made, bytesMax, refusing, silent] = [0, Number.POSITIVE_INFINITY, false, false];

  const server = createServer((client) => {
    made += 1;
    client.on('error', () => {});
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const service = connect(Number(port), hostname);
    let brought = 0;
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        service.destroy();
      });
    }
    client.pipe(service);
    service.on('data', (data: Buffer) => {
      if (silent) return;
      client.write(data.subarray(0, Math.max(0, bytesMax - brought)));
      brought += data.length;
      if (brought >= bytesMax) client.end(() => client.resetAndDestroy());
    });
    service.on('end', () => client.end());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(async () => {
    cut();
    await new Promise((done) => server.close(done));
  });
  const address = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    made: () => made,
    cut,
    cutAfter: (bytes) => {
      bytesMax = bytes;
    },
    refuse: (value) => {
      refusing = value;
    },
    silence: (value) => {
      silent = value;
    },
  };
}

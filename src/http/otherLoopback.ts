// `localhost` is two addresses, and a server listens on one of them. Clients may try either.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** Hands connections to the other addresses of `localhost` over to the server. Returns what ends that. */
export async function listenOnOtherLoopback(server: Server): Promise<() => void> {
  const { address: bound, port } = server.address() as AddressInfo;
  const addresses = await lookup('localhost', { all: true });
  const others = addresses
    .filter(({ address }) => address !== bound)
    .map(({ address }) =>
      createServer((socket) => void server.emit('connection', socket))
        // An address that is taken, or that this machine does not have, is no reason not to start.
        .on('error', () => {})
        .listen(port, address),
    );
  await Promise.allSettled(others.map((other) => once(other, 'listening')));
  return () => {
    for (const other of others) other.close();
  };
}

// `localhost` resolves to two addresses, but a server listens on only one of them, and clients may try either.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** Also accepts connections on the other addresses of `localhost`. Returns a function that stops it. */
export async function listenOnOtherLoopback(server: Server): Promise<() => void> {
  const { address: bound, port } = server.address() as AddressInfo;
  const addresses = await lookup('localhost', { all: true });
  const others = addresses
    .filter(({ address }) => address !== bound)
    .map(({ address }) =>
      createServer((socket) => void server.emit('connection', socket))
        // The service also starts if an address is in use or does not exist on this machine.
        .on('error', () => {})
        .listen(port, address),
    );
  await Promise.allSettled(others.map((other) => once(other, 'listening')));
  return () => {
    for (const other of others) other.close();
  };
}

// GET /acp with an upgrade to WebSocket, for ACP clients on other machines.
import type { AddressInfo } from 'node:net';
import { AppError } from '../errors.ts';
import { needs } from '../http/access.ts';
import { sentCredential } from '../http/authentication.ts';
import type { Server } from '../http/routeTable.ts';
import { upgradeHead } from '../http/upgrades.ts';
import type { AcpSockets } from './sockets.ts';

export const acpPath = '/acp';

interface AcpRoutesOptions {
  readonly version: string;
  readonly onBackgroundError: (error: Error) => void;
}

/** A service that listens on all addresses is reached at the loopback address. */
function urlOf({ address, family, port }: AddressInfo): string {
  const reachable = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  return `http://${family === 'IPv6' ? `[${reachable}]` : reachable}:${port}`;
}

/** The server is created by the first request, because loading it would delay every start. */
export function acpRoutes(app: Server, options: AcpRoutesOptions): void {
  let sockets: Promise<AcpSockets> | undefined;
  const load = () => {
    sockets ??= import('./sockets.ts').then(({ createAcpSockets }) =>
      createAcpSockets({ ...options, ownUrl: () => urlOf(app.server.address() as AddressInfo) }),
    );
    return sockets;
  };
  app.route({
    method: 'GET',
    url: acpPath,
    config: { access: needs('conversations:read', { bearer: true }) },
    schema: { hide: true },
    handler: async (request, reply) => {
      const head = upgradeHead(request.raw);
      if (head === undefined)
        throw new AppError('invalid', 'ACP clients connect to this address with a WebSocket.');
      const { handleUpgrade, count } = await load();
      count(request.principal, request.raw.socket);
      reply.hijack();
      reply.raw.detachSocket(request.raw.socket);
      handleUpgrade(request.raw, head, sentCredential(request.headers)?.text);
    },
  });
  app.addHook('preClose', async () => (await sockets)?.close());
}

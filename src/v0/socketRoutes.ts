// GET and POST /socket.io/ and its upgrades, for existing clients.
import { open } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import { upgradeHead } from '../http/upgrades.ts';
import type { Sockets } from './sockets.ts';

export const socketPath = '/socket.io/';

/** The server is created by the first request, because loading socket.io would delay every start. */
export function socketRoutes(app: Server, loadSockets: () => Promise<Sockets>): void {
  app.register(async (scope) => {
    // Engine.IO reads the body itself.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.route({
      method: ['GET', 'POST'],
      url: socketPath,
      config: { access: open },
      schema: { hide: true },
      handler: async (request, reply) => {
        const sockets = await loadSockets();
        const { raw, ip: address, id: requestId } = request;
        const head = upgradeHead(raw);
        sockets.checkRequest(raw, (listener) => reply.raw.once('close', listener));
        reply.hijack();
        if (head !== undefined) {
          reply.raw.detachSocket(raw.socket);
          return sockets.handleUpgrade(raw, head, { address, requestId });
        }
        for (const [name, value] of Object.entries(reply.getHeaders()))
          if (value !== undefined) reply.raw.setHeader(name, value);
        sockets.handleRequest(raw, reply.raw, { address, requestId });
      },
    });
  });
}

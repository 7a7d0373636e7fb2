// Upgrades to WebSocket go through Fastify like every other request, so that the same checks apply. The route takes the
// connection over.
import { type IncomingMessage, type Server as NodeServer, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Server } from './routeTable.ts';

const heads = new WeakMap<IncomingMessage, Buffer>();

/** The first bytes after the headers of an upgrade; undefined if the request is an ordinary one. */
export function upgradeHead(request: IncomingMessage): Buffer | undefined {
  return heads.get(request);
}

/** Routes upgrades of the server. The server decides by path which requests are upgrades at all. */
export function routeUpgrades(server: NodeServer, app: Pick<Server, 'routing'>): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Without a listener, a connection that breaks would end the process.
    socket.on('error', () => socket.destroy());
    heads.set(request, head);
    const response = new ServerResponse(request);
    response.assignSocket(request.socket);
    // A refusal is the last response of the connection.
    response.on('finish', () => socket.end());
    app.routing(request, response);
  });
}

// Logs requests: each one at level debug, or all of them as an access log that does not depend on the log level.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Server } from './routeTable.ts';
import { upgradeHead } from './upgrades.ts';

const switchedProtocols = 101;

/** Null if the connection ended before there was a response. */
function statusOf({ raw: request }: FastifyRequest, { raw: response }: FastifyReply): number | null {
  if (response.headersSent) return response.statusCode;
  return upgradeHead(request) !== undefined ? switchedProtocols : null;
}

/** `write` gets one line for each request, when its response or its WebSocket is closed. */
function followRequests(app: Server, write: (line: object) => void): void {
  app.addHook('onRequest', (request, reply, done) => {
    const since = performance.now();
    // A response of which the client does not read the end, such as a stream, closes without finishing. The response to an
    // upgrade is never used, unless it is refused.
    const closing = upgradeHead(request.raw) === undefined ? reply.raw : request.raw.socket;
    closing.once('close', () => {
      // The process that a client has asked logs its request.
      if (request.isPassedOn) return;
      const { id, method, routeOptions, principal, ip } = request;
      write({
        request_id: id,
        method,
        // The pattern of the route instead of the URL, which may hold a secret.
        route: routeOptions.url ?? '(none)',
        status: statusOf(request, reply),
        ms: Math.round((performance.now() - since) * 1_000) / 1_000,
        key_id: principal?.keyId ?? null,
        address: ip,
      });
    });
    done();
  });
}

export function logRequests(app: Server, logger: Logger, hasAccessLog: boolean): void {
  if (hasAccessLog) {
    const accessLog = logger.child({}, { level: 'info' });
    followRequests(app, (line) => accessLog.info(line, 'request'));
  } else if (logger.isLevelEnabled('debug')) followRequests(app, (line) => logger.debug(line, 'request'));
}

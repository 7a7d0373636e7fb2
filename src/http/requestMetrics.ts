// Measures how long requests take, for metrics.
import type { FastifyReply } from 'fastify';
import type { Metrics } from '../metrics/metrics.ts';
import type { Server } from './routeTable.ts';

/** The time that a stream is open says nothing about the service. */
const streamType = 'text/event-stream';

export function isStream(reply: FastifyReply): boolean {
  const type = reply.getHeader('content-type');
  return typeof type === 'string' && type.startsWith(streamType);
}

export function measureRequests(app: Server, { requests }: Metrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    // The route's pattern: a path may contain what a user has chosen.
    const route = request.routeOptions.url ?? '(none)';
    if (!isStream(reply))
      requests.observe([request.method, route, reply.statusCode], reply.elapsedTime / 1_000);
    done();
  });
}

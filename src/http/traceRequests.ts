// A span for each request, which continues the trace of the client. It has the pattern of the route instead of the URL, which
// may contain what a user has chosen.
import type { IncomingMessage } from 'node:http';
import type { Span, Tracing } from '../tracing/tracing.ts';
import { isStream } from './requestMetrics.ts';
import type { Server } from './routeTable.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined unless traces are recorded. */
    span: Span | undefined;
  }
}

/** Load balancers and Prometheus send these all the time. */
const untraced: ReadonlySet<string> = new Set(['/health', '/alive', '/ready', '/metrics']);
const firstServerError = 500;

const spanName = (method: string, route: string | undefined) =>
  route === undefined ? method : `${method} ${route}`;

function startSpan(
  tracing: Tracing,
  { method = '', headers }: IncomingMessage,
  route: string | undefined,
  startedAt: number,
) {
  const { traceparent } = headers;
  return tracing.start(spanName(method, route), {
    kind: 'server',
    parent: typeof traceparent === 'string' ? traceparent : undefined,
    attributes: { 'http.request.method': method, ...(route === undefined ? {} : { 'http.route': route }) },
    startedAt,
  });
}

function endSpan(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status });
  if (status >= firstServerError) span.fail(String(status));
  span.end();
}

/** For a request that was answered without Fastify. */
export function traceAnswered(
  tracing: Tracing,
  request: IncomingMessage,
  route: string,
  since: number,
): void {
  endSpan(startSpan(tracing, request, route, since), 200);
}

/** Must be called before other hooks are added, so that they are part of the span. */
export function traceRequests(app: Server, tracing: Tracing): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { url: route } = request.routeOptions;
    if (route === undefined || !untraced.has(route))
      request.span = startSpan(tracing, request.raw, route, performance.now() - reply.elapsedTime);
    done();
  });
  app.addHook('onResponse', ({ span }, reply, done) => {
    // A stream is open for as long as its client likes, so it has no span.
    if (span !== undefined && !isStream(reply)) endSpan(span, reply.statusCode);
    done();
  });
}

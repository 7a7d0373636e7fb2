// GET /metrics, for Prometheus.
import { needs } from '../http/access.ts';
import type { Server } from '../http/routeTable.ts';
import type { Metrics } from './metrics.ts';

export function metricsRoutes(app: Server, metrics: Metrics): void {
  app.get(
    '/metrics',
    {
      config: {
        access: needs('admin', { bearer: true }),
        document: {
          responses: {
            200: {
              description: 'The metrics in the text format of Prometheus.',
              mediaType: 'text/plain',
              anyOf: [{ type: 'string' }],
            },
          },
        },
      },
      schema: {
        tags: ['Service'],
        operationId: 'getMetrics',
        summary: 'Read the metrics of this process',
        description: 'The key needs the scope `admin`. PARLEY_METRICS_PORT serves the same without a key.',
      },
    },
    async (_request, reply) => {
      const { contentType, text } = await metrics.read();
      return reply.type(contentType).send(text);
    },
  );
}

// GET /metrics on a port of its own, for a Prometheus that has no API key.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RefusalError } from '../errors.ts';
import type { Metrics } from './metrics.ts';

/** Prometheus sends small requests. */
const headerBytesMax = 8 * 1_024;
const connectionsMax = 64;
const requestTimeoutMs = 10_000;

interface MetricsServerOptions {
  readonly metrics: Metrics;
  readonly host: string;
  readonly port: number;
  readonly onError: (error: Error) => void;
}

export async function serveMetrics({ metrics, host, port, onError }: MetricsServerOptions) {
  const server = createServer(
    { maxHeaderSize: headerBytesMax, requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
    (request, response) => {
      if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics')
        return void response.writeHead(404).end();
      metrics.read().then(
        ({ contentType, text }) => response.writeHead(200, { 'content-type': contentType }).end(text),
        (error) => {
          onError(error);
          response.writeHead(500).end();
        },
      );
    },
  );
  server.maxConnections = connectionsMax;
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new RefusalError(
      `Cannot serve metrics on ${host}:${port}: ${(error as NodeJS.ErrnoException).code}. Choose another PARLEY_METRICS_PORT.`,
    );
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

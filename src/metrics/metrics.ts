// Every metric of the process, declared once. Labels have few values and none that comes from a user.
import type { Exposition } from './exposition.ts';
import { type Counter, createHistogram, type Gauge, type Instrument } from './instruments.ts';

const requestSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const requests = createHistogram({
    name: 'parley_http_request_seconds',
    help: 'Time from the arrival of a request until its response was written, without streams.',
    labels: ['method', 'route', 'status'],
    bounds: requestSeconds,
  });
  const instruments: Instrument[] = [requests];
  let exposition: Promise<Exposition> | undefined;

  return {
    requests,
    /** Adds metrics that are read when somebody asks for them. */
    add: (...more: readonly (Counter | Gauge)[]) => void instruments.push(...more),
    /** All metrics in the text format of Prometheus. */
    read: async () => {
      exposition ??= import('./exposition.ts').then(({ createExposition }) => createExposition(instruments));
      const { contentType, print } = await exposition;
      return { contentType, text: await print() };
    },
  };
}

// The metrics that are read from the services and the database when somebody asks for them.
import { createGauge } from './instruments.ts';
import type { Metrics } from './metrics.ts';

export interface Backlog {
  readonly running: number;
  readonly waiting: number;
  /** How long the oldest of those that wait has been waiting. */
  readonly waitingMs: number;
}

interface ServiceMetricsOptions {
  readonly readBacklog: () => Promise<Backlog>;
  /** Runs of this process. */
  readonly runs: () => number;
  readonly slots: number;
  /** Open streams and sockets of this process. */
  readonly subscribers: () => number;
}

/** Several scrapes in a short time cost one query. */
const backlogAgeMsMax = 5_000;

const only = (value: number) => [{ labels: [], value }];

/** Undefined while the database cannot be reached, so that the other metrics can still be read. */
function createBacklogReader(read: () => Promise<Backlog>) {
  let readAt = Number.NEGATIVE_INFINITY;
  let latest: Promise<Backlog | undefined> = Promise.resolve(undefined);
  return () => {
    if (performance.now() - readAt >= backlogAgeMsMax) {
      readAt = performance.now();
      latest = read().catch(() => undefined);
    }
    return latest;
  };
}

export function addServiceMetrics(metrics: Metrics, options: ServiceMetricsOptions): void {
  const { runs, slots, subscribers } = options;
  const backlog = createBacklogReader(options.readBacklog);
  metrics.add(
    createGauge(
      {
        name: 'parley_conversations',
        help: 'Conversations of all processes that run, and that wait for a worker. At most 100,000 are counted.',
        labels: ['state'],
      },
      async () => {
        const found = await backlog();
        if (found === undefined) return [];
        return [
          { labels: ['running'], value: found.running },
          { labels: ['waiting'], value: found.waiting },
        ];
      },
    ),
    createGauge(
      {
        name: 'parley_waiting_seconds',
        help: 'How long the oldest conversation has been waiting for a worker.',
        labels: [],
      },
      async () => {
        const found = await backlog();
        return found === undefined ? [] : only(found.waitingMs / 1_000);
      },
    ),
    createGauge({ name: 'parley_runs', help: 'Conversations that run in this process.', labels: [] }, () =>
      only(runs()),
    ),
    createGauge(
      { name: 'parley_run_slots', help: 'How many conversations this process runs at most.', labels: [] },
      () => only(slots),
    ),
    createGauge(
      { name: 'parley_streams', help: 'Open streams and sockets that follow events.', labels: [] },
      () => only(subscribers()),
    ),
  );
}

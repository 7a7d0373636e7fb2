// The metrics that are read from the services, the database and the disk when somebody asks for them.
import { createGauge, type Gauge } from './instruments.ts';
import type { Metrics } from './metrics.ts';
import { createSharedRead } from './sharedRead.ts';

export interface Backlog {
  readonly running: number;
  readonly waiting: number;
  /** How long the oldest of those that wait has been waiting. */
  readonly waitingMs: number;
}

/** Webhook deliveries that were not delivered yet. */
export interface OutboxAge {
  /** The age of the oldest one. */
  readonly oldestMs: number;
  /** How long the one that is most overdue has been due. */
  readonly overdueMs: number;
}

interface ServiceMetricsOptions {
  readonly readBacklog: () => Promise<Backlog>;
  readonly readOutboxAge: () => Promise<OutboxAge>;
  /** How long ago the last good backup was begun, in milliseconds; undefined if there was none. */
  readonly readBackupAge: () => Promise<number | undefined>;
  readonly readDiskFree: () => Promise<number>;
  /** Whether the snapshot store can be used and is the one of this service; undefined if there is none. */
  readonly readSnapshotStore: () => Promise<boolean | undefined>;
  /** Runs of this process. */
  readonly runs: () => number;
  readonly slots: number;
  /** What the workspaces of these runs held when they were last counted. */
  readonly workspaceBytes: () => number;
  /** How long the oldest change of files has been waiting for its snapshot. */
  readonly snapshotsOverdueMs: () => number;
  /** Open streams and sockets of this process. */
  readonly subscribers: () => number;
}

/** A gauge without labels. It is missing while its value cannot be read. */
function createPlainGauge(
  name: string,
  help: string,
  read: () => Promise<number | undefined> | number,
): Gauge {
  return createGauge({ name, help, labels: [] }, async () => {
    const value = await read();
    return value === undefined ? [] : [{ labels: [], value }];
  });
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

function createSharedGauges(options: ServiceMetricsOptions): Gauge[] {
  const backlog = createSharedRead(options.readBacklog);
  const outbox = createSharedRead(options.readOutboxAge);
  const backupAge = createSharedRead(options.readBackupAge);
  const snapshotStore = createSharedRead(options.readSnapshotStore);
  return [
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
    createPlainGauge(
      'parley_waiting_seconds',
      'How long the oldest conversation has been waiting for a worker.',
      async () => inSeconds((await backlog())?.waitingMs),
    ),
    createPlainGauge(
      'parley_outbox_seconds',
      'The age of the oldest undelivered webhook delivery.',
      async () => inSeconds((await outbox())?.oldestMs),
    ),
    createPlainGauge(
      'parley_outbox_overdue_seconds',
      'How long the most overdue webhook delivery has been due.',
      async () => inSeconds((await outbox())?.overdueMs),
    ),
    createPlainGauge(
      'parley_backup_age_seconds',
      'How long ago the last good backup was begun, whoever made it.',
      async () => inSeconds(await backupAge()),
    ),
    createPlainGauge(
      'parley_snapshot_store_up',
      'Whether this process can read the snapshot store and it is the one of this service: 1 or 0.',
      async () => {
        const isUp = await snapshotStore();
        return isUp === undefined ? undefined : Number(isUp);
      },
    ),
  ];
}

export function addServiceMetrics(metrics: Metrics, options: ServiceMetricsOptions): void {
  const { runs, slots, workspaceBytes, snapshotsOverdueMs, subscribers } = options;
  metrics.add(
    ...createSharedGauges(options),
    createPlainGauge('parley_runs', 'Conversations that run in this process.', runs),
    createPlainGauge('parley_run_slots', 'How many conversations this process runs at most.', () => slots),
    createPlainGauge(
      'parley_workspace_bytes',
      'What the workspaces and homes of the runs of this process held when they were last counted.',
      workspaceBytes,
    ),
    createPlainGauge(
      'parley_snapshot_overdue_seconds',
      'For how long the run that waits longest for a snapshot of its files has been waiting.',
      () => snapshotsOverdueMs() / 1_000,
    ),
    createPlainGauge(
      'parley_disk_free_bytes',
      'Free space on the file system of the data folder.',
      createSharedRead(options.readDiskFree),
    ),
    createPlainGauge('parley_streams', 'Open streams and sockets that follow events.', subscribers),
  );
}

// Two machines with one database and one snapshot store, of which one is lost.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { DatabaseKind } from '../../src/db/transaction.ts';
import { markerFolder } from '../../src/workspaces/snapshots/marker.ts';
import { createStorage, type StorageLocation, type TestStorage } from './databases.ts';
import { inspect } from './inspect.ts';
import { type Runs, type RunsOptions, startRuns, type TestEvent } from './runs.ts';
import { until } from './until.ts';

interface After {
  after(fn: () => Promise<void>): void;
}

export interface Machine extends Runs {
  readonly storage: TestStorage;
}

export interface Cluster {
  /** The folder of the snapshot store. */
  readonly store: string;
  /** Starts a service with a data folder of its own. */
  startMachine(options?: RunsOptions): Promise<Machine>;
  /** Starts it again with the same data folder. */
  restartMachine(machine: Machine, options?: RunsOptions): Promise<Machine>;
  /** Creates a conversation whose first turn runs the command, and waits for its snapshot. */
  createStored(machine: Machine, command: string, more?: Record<string, unknown>): Promise<string>;
  /** Waits until a snapshot of the conversation with these turns is complete. */
  stored(id: string, heard?: number): Promise<void>;
  /** The columns `blob` and `heard` of its last complete snapshot. */
  pointer(id: string): Promise<Record<string, unknown> | undefined>;
  /** All blobs in the store. */
  blobs(): string[];
}

export function temporaryFolder(t: After): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** On SQLite, each machine has a database of its own. */
export async function createCluster(
  t: After,
  { kind = 'postgres', env = {} }: { kind?: DatabaseKind; env?: Record<string, string> } = {},
): Promise<Cluster> {
  const storage = await createStorage(kind);
  const store = temporaryFolder(t);
  t.after(() => storage.remove());
  const common = {
    SESSION_API_KEY: 'the-same-key-everywhere',
    PARLEY_SECRET_KEY: '11'.repeat(32),
    PARLEY_SNAPSHOTS: store,
    ...env,
  };
  let latest: StorageLocation = storage;
  async function start(machine: TestStorage, options: RunsOptions = {}): Promise<Machine> {
    latest = machine;
    const runs = await startRuns({ ...options, storage: machine, env: { ...common, ...options.env } }, t);
    return { ...runs, storage: machine };
  }
  async function pointer(id: string): Promise<Record<string, unknown> | undefined> {
    const [row] = await inspect(
      latest,
      `select blob, heard from snapshots where conversation_id = '${id}' and blob is not null and removed_at is null`,
    );
    return row;
  }
  async function stored(id: string, heard = 1): Promise<void> {
    await until(
      'the snapshot is complete',
      async () => {
        const [row] = await inspect(
          latest,
          `select snapshots.heard, conversations.heard as all_heard from snapshots join conversations on key = conversation_key
           where conversations.id = '${id}' and blob is not null`,
        );
        return (
          row !== undefined &&
          Number(row['heard']) >= heard &&
          Number(row['heard']) === Number(row['all_heard'])
        );
      },
      20_000,
    );
  }

  return {
    store,
    blobs: () =>
      readdirSync(store, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && basename(entry.parentPath) !== markerFolder)
        .map((entry) => join(entry.parentPath, entry.name)),
    startMachine: (options) =>
      start({ ...storage, dataDir: temporaryFolder(t), remove: async () => {} }, options),
    restartMachine: (machine, options) => start(machine.storage, options),
    pointer,
    stored,
    createStored: async (machine, command, more) => {
      const id = await machine.create(`really-run ${command}`, more);
      await machine.turns(id, 1);
      await stored(id);
      return id;
    },
  };
}

/** The notices about snapshots. */
export function snapshotNotices(events: readonly TestEvent[]): string[] {
  const ids = events.map(({ extras }) => String(extras?.['notice_id'] ?? ''));
  return ids.filter((id) => id.startsWith('SNAPSHOT_'));
}

/** Starts a conversation that cannot have its files, and returns why. */
export async function stopsWithFault({ start, info }: Machine, id: string): Promise<string> {
  await start(id);
  const { stop_reason: reason } = await until('it has stopped', async () => {
    const found = await info(id);
    return found.stop_reason?.code === 'workspace_error' && found;
  });
  return reason?.message ?? '';
}

/** Commands that create files of all kinds and show them, and what the latter prints. */
export const makeFiles =
  'echo one >a.txt; mkdir -p d; echo two >d/b.txt; git add a.txt; echo kept >"$HOME/kept"';
export const showFiles = 'cat a.txt d/b.txt "$HOME/kept"; git status --short';
export const shownFiles = 'one\ntwo\nkept\nA  a.txt\n?? d/\n';

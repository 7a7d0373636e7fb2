// Runs pgbench, which shows what the PostgreSQL server itself can do: one prepared statement a transaction, with the same
// rows as the service stores.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';

const graceMs = 20_000;

/** Why pgbench cannot be used; undefined if it can. */
export function pgbenchFault(): string | undefined {
  const { error, status } = spawnSync('pgbench', ['--version']);
  if (error !== undefined || status !== 0)
    return 'skipped: pgbench is not installed (Debian: postgresql-contrib)';
  return undefined;
}

/** A text as a literal in which pgbench finds no variable. */
export function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll(':', '\\x3a')}'`;
}

export interface PgbenchRun {
  readonly storage: TestStorage;
  /** The statement; `:client_id` is the number of the connection, `:n` counts from `first`. */
  readonly statement: string;
  readonly first: number;
  readonly connections: number;
  readonly seconds: number;
}

/** Returns transactions a second, without the time to connect. */
export async function runPgbench(lifetime: Lifetime, run: PgbenchRun): Promise<number> {
  const { storage, statement, first, connections, seconds } = run;
  const script = join(storage.dataDir, 'pgbench.sql');
  writeFileSync(script, `\\set n :n + 1\n${statement};\n`);
  const { hostname, port, username, password, pathname } = new URL(storage.databaseUrl ?? '');
  const args = ['-n', '-M', 'prepared', '-f', script, '-c', String(connections), '-j', '1'];
  const child = spawn('pgbench', [...args, '-D', `n=${first}`, '-T', String(seconds)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      PGDATABASE: pathname.slice(1),
    },
    timeout: seconds * 1_000 + graceMs,
  });
  lifetime.adopt(child);
  let output = '';
  const read = (chunk: Buffer) => {
    output += chunk.toString();
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  await once(child, 'close');
  const [, rate] = /tps = ([\d.]+) \(without initial/.exec(output) ?? [];
  if (rate === undefined || /number of failed transactions: [1-9]/.test(output))
    throw new Error(`pgbench failed:\n${output}`);
  return Number(rate);
}

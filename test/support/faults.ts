// Switches for database faults of a running service.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { withPostgres } from './databases.ts';
import type { Site } from './process.ts';
import type { SqliteFault } from './sqliteFaults.ts';
import { until } from './until.ts';

export function turnOn({ faultsDir }: Site, fault: SqliteFault): void {
  rmSync(join(faultsDir, `${fault}.reached`), { force: true });
  writeFileSync(join(faultsDir, fault), '');
}

export function turnOff({ faultsDir }: Site, fault: SqliteFault): void {
  rmSync(join(faultsDir, fault), { force: true });
}

/** Creations whose commits wait. The service of a SQLite site must be started with `faults`. */
export interface HeldCommits {
  /** Waits until a commit is held. */
  reached(): Promise<void>;
  release(): Promise<void>;
}

const heldLock = 4_242;

/** Blocks commits of creations until it is released. */
export async function holdCommits(
  site: Site,
  t: { after(fn: () => Promise<void>): void },
): Promise<HeldCommits> {
  const { databaseUrl } = site.storage;
  if (databaseUrl !== undefined) return holdPostgres(databaseUrl, t);
  turnOn(site, 'commit-waits');
  return {
    reached: () =>
      until('a commit is held', () => existsSync(join(site.faultsDir, 'commit-waits.reached'))).then(
        () => {},
      ),
    release: async () => turnOff(site, 'commit-waits'),
  };
}

async function holdPostgres(url: string, t: { after(fn: () => Promise<void>): void }): Promise<HeldCommits> {
  await withPostgres(url, (client) =>
    client.query(`
      create or replace function hold_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(${heldLock}); return null; end $$;
      drop trigger if exists held on conversations;
      create constraint trigger held after insert on conversations
        deferrable initially deferred for each row execute function hold_commit();`),
  );
  const holder = new pg.Client({ connectionString: url });
  holder.on('error', () => {});
  await holder.connect();
  await holder.query(`select pg_advisory_lock(${heldLock})`);
  let released = false;
  const release = async () => {
    if (!released) await holder.end();
    released = true;
  };
  t.after(release);
  return {
    reached: () =>
      until('a commit is held', async () => (await countWaiting(url, "locktype = 'advisory'")) > 0).then(
        () => {},
      ),
    release,
  };
}

/** How many connections to this database wait for such a lock. */
export async function countWaiting(url: string, kind: string): Promise<number> {
  const { rows } = await withPostgres(url, (client) =>
    client.query(
      `select 1 from pg_locks where not granted and ${kind}
         and database = (select oid from pg_database where datname = current_database())`,
    ),
  );
  return rows.length;
}

// Checks the database without changing it.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Config } from '../../config.ts';
import { migrations, newerDatabaseMessage } from '../../db/migrate.ts';
import { commandName } from '../../process/program.ts';
import { compareClocks, type Finding, note, ok, wrong } from './finding.ts';

/** A larger database takes too long to check completely. */
const checkedBytesMax = 512 * 1_024 * 1_024;
const connectMsMax = 5_000;

const restore = 'Restore a backup: see docs/backup.md.';

/** Compares the applied migrations with those of this version. */
function checkSchema(what: string, applied: readonly string[]): Finding {
  const known = migrations.map(({ name }) => name);
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length > 0) return wrong('database', newerDatabaseMessage(unknown), 'Update Parley.');
  const missing = known.length - applied.length;
  if (missing === 0) return ok('database', `${what} opens, and its schema is up to date.`);
  return note(
    'database',
    `${what} opens, but ${missing} ${missing === 1 ? 'migration has' : 'migrations have'} not been applied yet.`,
    `Make a backup; the next "${commandName} serve" applies them.`,
  );
}

function checkSqlite(file: string): Finding[] {
  if (!existsSync(file))
    return [note('database', 'There is no database yet.', `The first "${commandName} serve" creates it.`)];
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly: true, timeout: connectMsMax });
    const applied = database.prepare('select name from migrations').all() as { name: string }[];
    const small = statSync(file).size <= checkedBytesMax;
    const [fault] = small
      ? (database.prepare('pragma quick_check(1)').all() as { quick_check: string }[])
      : [];
    if (fault !== undefined && fault.quick_check !== 'ok')
      return [wrong('database', `${file} is damaged: ${fault.quick_check}.`, restore)];
    const found = checkSchema(
      file,
      applied.map(({ name }) => name),
    );
    if (found.state !== 'ok') return [found];
    const newest = database.prepare('select max(updated_at) as at from conversations').get() as {
      at: number | null;
    };
    // SQLite's times come from this machine, so only a time in the future means anything.
    const now = Date.now();
    return [found, compareClocks('the newest time in the database', Math.max(newest.at ?? 0, now), now)];
  } catch (error) {
    return [wrong('database', `${file} cannot be read: ${(error as Error).message}.`, restore)];
  } finally {
    database?.close();
  }
}

async function checkPostgres(databaseUrl: string): Promise<Finding[]> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: connectMsMax });
  client.on('error', () => {});
  try {
    await client.connect();
    const clock = await client.query('select extract(epoch from clock_timestamp()) * 1000 as now');
    const clocks = compareClocks('PostgreSQL', Number(clock.rows[0]?.now), Date.now());
    const table = await client.query("select to_regclass('migrations') is not null as there");
    if (table.rows[0]?.there !== true)
      return [
        note(
          'database',
          'PostgreSQL answers, and the database is empty.',
          `The first "${commandName} serve" creates the schema.`,
        ),
        clocks,
      ];
    const applied = await client.query('select name from migrations');
    return [
      checkSchema(
        'PostgreSQL',
        applied.rows.map(({ name }) => String(name)),
      ),
      clocks,
    ];
  } catch (error) {
    const { message, code } = error as { message?: string; code?: string };
    const remedy =
      'Check that it runs, and that the user, password and database name in DATABASE_URL are right.';
    return [wrong('database', `PostgreSQL at DATABASE_URL cannot be used: ${message || code}.`, remedy)];
  } finally {
    await client.end().catch(() => {});
  }
}

export function checkDatabase({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<Finding[]> {
  return databaseUrl === undefined
    ? Promise.resolve(checkSqlite(join(dataDir, 'parley.db')))
    : checkPostgres(databaseUrl);
}

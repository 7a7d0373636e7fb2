// Fills a PostgreSQL database in one transaction, so that a restore that fails leaves what was there before.

import { migrate } from '../../db/migrate.ts';
import { endWithin } from '../../db/postgresClient.ts';
import { drive } from '../../db/postgresTransaction.ts';
import { createPostgresQueries } from '../../db/queries.ts';
import { RefusalError } from '../../errors.ts';
import { connectForBackup } from '../sources/postgresSource.ts';
import { allTables, numbered, quoteName } from '../tables.ts';
import { type DatabaseTarget, migrationsOf } from './target.ts';

const int8Oid = 20;
/** A process that was seen in this time is alive. */
const aliveMs = 20_000;
const lockTimeoutMs = 10_000;

const aliveQuery = `
  select count(*)::int as alive from nodes
  where seen_at > (extract(epoch from clock_timestamp()) * 1000)::bigint - ${aliveMs}`;

/** Throws a RefusalError if the database has tables of Parley and `replace` is not set, or if a service uses it. */
export async function openPostgresTarget(url: string, replace: boolean): Promise<DatabaseTarget> {
  const client = await connectForBackup(url);
  client.setTypeParser(int8Oid, Number);
  const queries = createPostgresQueries();
  let isCommitted = false;
  const close = () => endWithin(client.end(), [client]);

  async function has(table: string): Promise<boolean> {
    const { rows } = await client.query('select to_regclass(quote_ident($1)) is not null as there', [table]);
    return rows[0]?.there === true;
  }

  async function makeRoom(): Promise<void> {
    if (!(await has('migrations'))) return;
    if ((await has('nodes')) && (await client.query(aliveQuery)).rows[0]?.alive > 0)
      throw new RefusalError(
        `A service uses this database, or was stopped less than ${aliveMs / 1_000} seconds ago. Stop all processes first.`,
      );
    if (!replace)
      throw new RefusalError(
        'The database at DATABASE_URL already has data of Parley. Restore into an empty one, or use --replace, which deletes what is there.',
      );
    await client.query('drop view if exists event_log');
    await client.query(`drop table if exists ${allTables.map(quoteName).join(', ')}`);
  }

  try {
    await client.query(`begin; set local statement_timeout = 0; set local lock_timeout = ${lockTimeoutMs};
      set local idle_in_transaction_session_timeout = 0`);
    await makeRoom();
  } catch (error) {
    await close();
    throw error;
  }

  return {
    kind: 'postgres',
    createSchema: async (applied) => {
      await drive(client, migrate(queries, migrationsOf(applied)));
    },
    insert: async ({ name, columns }, rows) => {
      const names = columns.map((column) => quoteName(column.name)).join(', ');
      const values = columns.map(({ type }, i) => (type === 'integer' ? `(e->>${i})::bigint` : `e->>${i}`));
      await client.query(
        `insert into ${quoteName(name)} (${names}) overriding system value
         select ${values.join(', ')} from json_array_elements($1::json) as e`,
        [JSON.stringify(rows)],
      );
    },
    setLastNumbers: async (numbers) => {
      for (const [table, column] of Object.entries(numbered)) {
        const last = numbers[table as keyof typeof numbers] ?? 0;
        if (last > 0)
          await client.query('select setval(pg_get_serial_sequence($1, $2)::regclass, $3)', [
            table,
            column,
            last,
          ]);
      }
    },
    migrate: async () => {
      await drive(client, migrate(queries));
    },
    drive: (steps) => drive(client, steps(queries)),
    commit: async () => {
      await client.query('commit');
      isCommitted = true;
      // The planner knows nothing about the new rows yet.
      await client.query('analyze');
    },
    close: async () => {
      if (!isCommitted) await client.query('rollback').catch(() => {});
      await close();
    },
  };
}

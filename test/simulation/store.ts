// The database of a simulation: SQLite in memory with the simulated time, on which the real transactions run one at a
// time. One is opened for many seeds, because migrating it takes longer than most of them.
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { migrate } from '../../src/db/migrate.ts';
import { createSqliteQueries } from '../../src/db/queries.ts';
import { createSqliteDriver } from '../../src/db/sqliteDriver.ts';
import type { Queries, Steps, Transaction } from '../../src/db/transaction.ts';

/** The proof of the encryption key stays, because the vault is opened once. */
const keptTables: ReadonlySet<string> = new Set(['migrations', 'facts']);

export interface Store {
  /** Deletes all rows, and takes the time from this clock from now on. */
  reset(clock: () => number): void;
  /** Runs a transaction to its end and commits it. Rolls back if it throws. */
  run<In, Out>(transaction: Transaction<In, Out>, input: In): Out;
  /** Starts a read, whose steps see what others commit between them. */
  begin<In, Out>(transaction: Transaction<In, Out>, input: In): { next(): { done: boolean; value?: Out } };
  /** For the checker, which knows nothing of the stores. */
  select<Row>(text: string, ...parameters: (string | number)[]): Row[];
  /** How many rows were ever inserted, changed or deleted. */
  changes(): number;
}

export function openStore(): Store {
  const connection = new DatabaseSync(':memory:');
  let now = () => 0;
  // The same within a statement, so that it is not called for every row.
  connection.function('simulated_now', { deterministic: true }, () => now());
  const queries: Queries = { ...createSqliteQueries(), now: sql<number>`simulated_now()` };
  const { statement, execute, drive } = createSqliteDriver(connection);
  drive(migrate(queries));
  connection.exec('pragma foreign_keys = on');
  const tables =
    // Not the tables in which SQLite itself stores the search index.
    (
      statement(
        `select name from sqlite_schema where type = 'table'
         and name not in (select name from pragma_table_list where type = 'shadow')`,
      ).all() as { name: string }[]
    ).filter(({ name }) => !keptTables.has(name));
  const countChanges = connection.prepare('select total_changes() as count');

  function drivePart<Out>(steps: Steps<Out>) {
    let step = steps.next();
    return {
      next: (): { done: boolean; value?: Out } => {
        if (!step.done) {
          const { sql: text, parameters } = step.value.compile();
          step = steps.next(statement(text).all(...(parameters as (string | number)[])));
        }
        return step.done ? { done: true, value: step.value } : { done: false };
      },
    };
  }

  return {
    reset: (clock) => {
      now = clock;
      connection.exec('pragma foreign_keys = off');
      for (const { name } of tables) connection.exec(`delete from ${name}`);
      connection.exec('pragma foreign_keys = on');
    },
    run: (transaction, input) => {
      const steps = transaction.steps(queries, input);
      if (transaction.access === 'read') return drive(steps);
      execute('begin immediate');
      try {
        const out = drive(steps);
        execute('commit');
        return out;
      } catch (error) {
        if (connection.isTransaction) execute('rollback');
        throw error;
      }
    },
    begin: (transaction, input) => drivePart(transaction.steps(queries, input)),
    select: <Row>(text: string, ...parameters: (string | number)[]) =>
      statement(text).all(...parameters) as Row[],
    changes: () => Number((countChanges.get() as { count: number }).count),
  };
}

// Fills a new SQLite file. It is written without a journal, because an incomplete file is thrown away.
import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { migrate } from '../../db/migrate.ts';
import { createSqliteQueries } from '../../db/queries.ts';
import { createSqliteDriver } from '../../db/sqliteDriver.ts';
import { numbered, quoteName, type TableColumns, type Value } from '../tables.ts';
import { badArchive } from '../tar.ts';
import { type DatabaseTarget, migrationsOf } from './target.ts';

/** For the pages of indexes, which are written at random. */
const pageCacheKib = 131_072;

function toInput(value: Value, type: string): SQLInputValue {
  return type === 'integer' && typeof value === 'string' ? BigInt(value) : value;
}

/** The file must not exist. It is complete and durable after `commit`. */
export function openSqliteTarget(file: string): DatabaseTarget {
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  const queries = createSqliteQueries();
  const driver = createSqliteDriver(database);
  let inserting: { readonly table: string; readonly statement: StatementSync } | undefined;
  let isOpen = true;
  let isKept = false;

  function closeDatabase(): void {
    if (!isOpen) return;
    isOpen = false;
    inserting = undefined;
    driver.forget();
    database.close();
  }

  function prepareInsert({ name, columns }: TableColumns): StatementSync {
    if (inserting?.table === name) return inserting.statement;
    const names = columns.map((column) => quoteName(column.name)).join(', ');
    const statement = database.prepare(
      `insert into ${quoteName(name)} (${names}) values (${columns.map(() => '?').join(', ')})`,
    );
    inserting = { table: name, statement };
    return statement;
  }

  database.exec(`pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -${pageCacheKib};
    pragma locking_mode = exclusive; begin immediate`);

  return {
    kind: 'sqlite',
    createSchema: async (applied) => {
      driver.drive(migrate(queries, migrationsOf(applied)));
    },
    insert: async (table, rows) => {
      const statement = prepareInsert(table);
      // Not `run`, which also returns the last key and fails if it is too large.
      for (const row of rows)
        statement.get(...row.map((value, i) => toInput(value, table.columns[i]?.type ?? 'text')));
    },
    setLastNumbers: async (numbers) => {
      const has = database.prepare("select 1 from sqlite_schema where name = 'sqlite_sequence'").get();
      if (has === undefined) return;
      for (const table of Object.keys(numbered)) {
        const last = numbers[table as keyof typeof numbers];
        const counts = database
          .prepare("select 1 from sqlite_schema where name = ? and sql like '%autoincrement%'")
          .get(table);
        if (last === undefined || counts === undefined) continue;
        database.prepare('delete from sqlite_sequence where name = ?').get(table);
        database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').get(table, last);
      }
    },
    migrate: async () => {
      driver.drive(migrate(queries));
    },
    drive: async (steps) => driver.drive(steps(queries)),
    commit: async () => {
      const stray = database.prepare('pragma foreign_key_check').get();
      if (stray !== undefined) throw badArchive(`a row of ${stray['table']} refers to one that is missing`);
      database.exec('commit');
      closeDatabase();
      const written = openSync(file, 'r+');
      fsyncSync(written);
      closeSync(written);
      isKept = true;
    },
    close: async () => {
      closeDatabase();
      if (!isKept) rmSync(file, { force: true });
    },
  };
}

// Drives the queries of a transaction on one SQLite connection, each statement prepared once.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Steps } from './transaction.ts';

const statementsMax = 512;

export interface SqliteDriver {
  statement(text: string): StatementSync;
  drive<Out>(steps: Steps<Out>): Out;
  forget(): void;
}

export function createSqliteDriver(connection: DatabaseSync): SqliteDriver {
  const statements = new Map<string, StatementSync>();
  /** Statements that give rows. The others are cheaper to run as such. */
  const readers = new WeakSet<StatementSync>();

  function statement(text: string): StatementSync {
    let found = statements.get(text);
    if (found === undefined) {
      if (statements.size >= statementsMax) statements.clear();
      found = connection.prepare(text);
      statements.set(text, found);
      if (found.columns().length > 0) readers.add(found);
    }
    return found;
  }

  function run(text: string, parameters: readonly SQLInputValue[], wantsDone = false): unknown[] {
    const found = statement(text);
    if (readers.has(found)) return found.all(...parameters);
    const done = found.run(...parameters);
    return wantsDone ? [done] : [];
  }

  function drive<Out>(steps: Steps<Out>): Out {
    let step = steps.next();
    while (!step.done) {
      const { sql, parameters } = step.value.compile();
      step = steps.next(run(sql, parameters as SQLInputValue[], step.value.wantsDone));
    }
    return step.value;
  }

  return { statement, drive, forget: () => statements.clear() };
}

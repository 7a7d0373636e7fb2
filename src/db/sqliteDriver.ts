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

  function statement(text: string): StatementSync {
    let found = statements.get(text);
    if (found === undefined) {
      if (statements.size >= statementsMax) statements.clear();
      found = connection.prepare(text);
      statements.set(text, found);
    }
    return found;
  }

  function drive<Out>(steps: Steps<Out>): Out {
    let step = steps.next();
    while (!step.done) {
      const { sql, parameters } = step.value.compile();
      step = steps.next(statement(sql).all(...(parameters as SQLInputValue[])));
    }
    return step.value;
  }

  return { statement, drive, forget: () => statements.clear() };
}

// Drives the queries of a transaction on one SQLite connection, each statement prepared once.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Steps } from './transaction.ts';

const statementsMax = 512;

/** A monotonic clock that all threads share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

export interface SqliteDriver {
  /** Prepares a statement that returns rows. */
  statement(text: string): StatementSync;
  /** Runs a statement that returns none. */
  execute(text: string): void;
  drive<Out>(steps: Steps<Out>): Out;
  forget(): void;
}

export function createSqliteDriver(connection: DatabaseSync): SqliteDriver {
  const statements = new Map<string, StatementSync>();
  /** Statements that return rows. */
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

  /** Returns the changes. The last key may be that of an event, which is larger than a number can be. */
  function runTelling(found: StatementSync, parameters: readonly SQLInputValue[]) {
    found.setReadBigInts(true);
    const { changes, lastInsertRowid } = found.run(...parameters);
    return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
  }

  function ask(text: string, parameters: readonly SQLInputValue[], wantsDone = false): unknown[] {
    const found = statement(text);
    if (wantsDone) return [runTelling(found, parameters)];
    if (readers.has(found)) return found.all(...parameters);
    // Not `run`, which also returns the last key and fails if it is too large.
    found.get(...parameters);
    return [];
  }

  function execute(text: string): void {
    ask(text, []);
  }

  function drive<Out>(steps: Steps<Out>): Out {
    let step = steps.next();
    while (!step.done) {
      const { sql, parameters } = step.value.compile();
      step = steps.next(ask(sql, parameters as SQLInputValue[], step.value.wantsChanges));
    }
    return step.value;
  }

  return { statement, execute, drive, forget: () => statements.clear() };
}

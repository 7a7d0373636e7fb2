// Loaded into the service before its own code: injects faults into SQLite. A fault is on while a file of its name is in
// the folder PARLEY_TEST_FAULTS.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

export type SqliteFault =
  /** A commit waits until the fault is off. */
  | 'commit-waits'
  /** A commit throws SQLITE_FULL. */
  | 'commit-fails'
  /** The database file cannot grow, so that SQLite itself reports SQLITE_FULL. */
  | 'disk-full'
  /** SQLite itself reports SQLITE_READONLY. */
  | 'read-only'
  /** An insert throws SQLITE_IOERR, for which SQLite rolls back the whole transaction. */
  | 'write-fails'
  /** A commit ends the thread. */
  | 'thread-ends'
  /** The file system does not support durable commits or a write-ahead log. */
  | 'weak-flush'
  | 'no-log';

const pollMs = 5;
const fullCode = 13;
const ioErrorWriteCode = 778;
const pagesMax = 4_294_967_294;
const folder = process.env['PARLEY_TEST_FAULTS'] ?? '';
const never = new Int32Array(new SharedArrayBuffer(4));

function isOn(fault: SqliteFault): boolean {
  return existsSync(join(folder, fault));
}

function waitWhile(fault: SqliteFault): void {
  if (!isOn(fault)) return;
  writeFileSync(join(folder, `${fault}.reached`), '');
  while (isOn(fault)) Atomics.wait(never, 0, 0, pollMs);
}

function beforeCommit(): void {
  waitWhile('commit-waits');
  if (isOn('thread-ends')) process.exit(1);
  if (isOn('commit-fails')) throw Object.assign(new Error('database or disk is full'), { errcode: fullCode });
}

function beforeBegin(database: DatabaseSync): void {
  const { page_count: pages } = prepare.call(database, 'pragma page_count').get() as { page_count: number };
  exec.call(database, `pragma max_page_count = ${isOn('disk-full') ? pages : pagesMax}`);
  exec.call(database, `pragma query_only = ${isOn('read-only') ? 1 : 0}`);
}

function beforeInsert(database: DatabaseSync): void {
  if (!isOn('write-fails')) return;
  exec.call(database, 'rollback');
  throw Object.assign(new Error('disk I/O error'), { errcode: ioErrorWriteCode });
}

/** The statement, with a function that runs before each execution. */
function doFirst(statement: StatementSync, first: () => void): StatementSync {
  const run = statement.run.bind(statement);
  const all = statement.all.bind(statement);
  const get = statement.get.bind(statement);
  // The service passes values only as a list.
  return Object.assign(statement, {
    run: (...values: SQLInputValue[]) => {
      first();
      return run(...values);
    },
    all: (...values: SQLInputValue[]) => {
      first();
      return all(...values);
    },
    get: (...values: SQLInputValue[]) => {
      first();
      return get(...values);
    },
  });
}

const { prepare, exec } = DatabaseSync.prototype;

DatabaseSync.prototype.prepare = function (text, ...rest) {
  const statement = prepare.call(this, text, ...rest);
  if (text === 'commit') return doFirst(statement, beforeCommit);
  if (text === 'begin immediate') return doFirst(statement, () => beforeBegin(this));
  if (text.startsWith('insert')) return doFirst(statement, () => beforeInsert(this));
  return statement;
};

DatabaseSync.prototype.exec = function (text) {
  let changed = text;
  if (isOn('weak-flush')) changed = changed.replace('synchronous = full', 'synchronous = normal');
  if (isOn('no-log')) changed = changed.replace('journal_mode = wal', 'journal_mode = delete');
  return exec.call(this, changed);
};

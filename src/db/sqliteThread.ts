// The thread that writes to SQLite. It takes a group of calls, runs each transaction, commits once for all of them and
// answers then, so that one fsync serves many callers.
import { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { migrate } from './migrate.ts';
import { createSqliteQueries } from './queries.ts';
import { createCheckpoints, forcedFrames } from './sqliteCheckpoints.ts';
import { createSqliteDriver, monotonicMs } from './sqliteDriver.ts';
import type { AnyTransaction } from './transaction.ts';

export interface ThreadInput {
  readonly file: string;
  /** A module that exports `transactions`. The thread loads the stores only through this URL. */
  readonly transactionsUrl: string;
}

export interface Call {
  readonly name: string;
  readonly input: unknown;
  /** The call is skipped if it starts later than this, in terms of `monotonicMs`. */
  readonly dueAt?: number;
}

export interface Failure {
  readonly message: string;
  readonly errcode: number | undefined;
  /** The call was skipped because its deadline had passed. */
  readonly isLate: boolean;
}

class LateError extends Error {}

/** The results of one group, in the order of its calls. */
export interface Answers {
  readonly values: readonly unknown[];
  /** Failed calls by index; usually there are none. */
  readonly failures?: ReadonlyMap<number, Failure>;
}

export interface Ready {
  readonly unknownMigrations: readonly string[];
  readonly synchronous: number;
  readonly journalMode: string;
}

export type FromThread =
  | { readonly type: 'ready'; readonly ready: Ready }
  | ({ readonly type: 'answers' } & Answers)
  | { readonly type: 'foreign-change' };

export type ToThread =
  | { readonly type: 'calls'; readonly calls: readonly Call[] }
  | { readonly type: 'close' };

const busyTimeoutMs = 5_000;
/** Grows as needed. It fits the id index of a million conversations, which is accessed at random. */
const pageCacheKib = 131_072;
const foreignChangePollMs = 200;

if (parentPort === null) throw new Error('sqliteThread.ts runs as a worker thread only');
const port: MessagePort = parentPort;
const { file, transactionsUrl } = workerData as ThreadInput;
const { transactions } = (await import(transactionsUrl)) as { transactions: readonly AnyTransaction[] };
const byName = new Map(transactions.map((t) => [t.name, t]));

const database = new DatabaseSync(file, { timeout: busyTimeoutMs });
database.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;
  pragma wal_autocheckpoint = ${forcedFrames}; pragma cache_size = -${pageCacheKib}; pragma temp_store = memory`);

const queries = createSqliteQueries();
const { statement, execute, drive, forget } = createSqliteDriver(database);
const checkpoints = createCheckpoints(file, statement);

function describe(error: unknown): Failure {
  const { message, errcode } = error as { message?: string; errcode?: number };
  return { message: message ?? String(error), errcode, isLate: error instanceof LateError };
}

function driveCall({ name, input, dueAt }: Call): unknown {
  if (dueAt !== undefined && monotonicMs() > dueAt) throw new LateError('the deadline has passed');
  const transaction = byName.get(name);
  if (transaction === undefined) throw new Error(`transaction ${name} is not in the list of transactions`);
  return drive(transaction.steps(queries, input));
}

interface Guarded {
  readonly value?: unknown;
  readonly failure?: Failure;
}

/** Runs under a savepoint, so that its failure undoes nothing else. */
function driveGuarded(call: Call): Guarded {
  execute('savepoint one');
  try {
    const value = driveCall(call);
    execute('release one');
    return { value };
  } catch (error) {
    // A full disk may have rolled back the whole group.
    if (!database.isTransaction) throw error;
    execute('rollback to one');
    execute('release one');
    return { failure: describe(error) };
  }
}

/** Runs all calls in one commit and returns their results. */
function commit<Out>(calls: readonly Call[], driveOne: (call: Call) => Out): Out[] {
  try {
    execute('begin immediate');
    // A list that grows is cheaper to pass to a thread than one that was allocated with its length.
    const outcomes: Out[] = [];
    for (const call of calls) outcomes.push(driveOne(call));
    execute('commit');
    return outcomes;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

function commitGuarded(calls: readonly Call[]): Answers {
  const values: unknown[] = [];
  const failures = new Map<number, Failure>();
  for (const [place, { value, failure }] of commit(calls, driveGuarded).entries()) {
    values.push(value);
    if (failure !== undefined) failures.set(place, failure);
  }
  return { values, failures };
}

/** Failures are rare. Only if one happens, the group runs again with each call under a savepoint. */
function commitGroup(calls: readonly Call[]): Answers {
  try {
    return { values: commit(calls, driveCall) };
  } catch {
    try {
      return commitGuarded(calls);
    } catch (error) {
      const failure = describe(error);
      return { values: [], failures: new Map(calls.map((_, place) => [place, failure])) };
    }
  }
}

function pragma<Value>(name: string): Value {
  return Object.values(statement(`pragma ${name}`).get() ?? {})[0] as Value;
}

function send(message: FromThread): void {
  port.postMessage(message);
}

async function close(): Promise<void> {
  clearInterval(poll);
  await checkpoints.close();
  forget();
  database.close();
  port.close();
}

port.on('message', (message: ToThread) => {
  if (message.type === 'close') return void close();
  send({ type: 'answers', ...commitGroup(message.calls) });
  checkpoints.look();
});

database.exec('begin immediate');
const unknownMigrations = drive(migrate(queries));
database.exec('commit');

// The version changes only if another connection commits, such as a command next to the service.
let version = pragma<number>('data_version');
const poll = setInterval(() => {
  try {
    const now = pragma<number>('data_version');
    if (now === version) return;
    version = now;
    send({ type: 'foreign-change' });
  } catch {
    // If the disk fails for a moment, the next tick tries again.
  }
}, foreignChangePollMs);

send({
  type: 'ready',
  ready: {
    unknownMigrations,
    synchronous: pragma('synchronous'),
    journalMode: pragma('journal_mode'),
  },
});

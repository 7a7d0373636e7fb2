// The SQLite engine: writes go to a thread, reads to a read-only connection in this one.
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { AppError, RefusalError } from '../errors.ts';
import { programFile } from '../process/program.ts';
import { newerDatabaseMessage } from './migrate.ts';
import { outcomeUnknown, tooLate } from './outcomes.ts';
import { createSqliteQueries } from './queries.ts';
import { createSqliteDriver, monotonicMs } from './sqliteDriver.ts';
import { createSlowReads } from './sqliteSlowReads.ts';
import type { Answers, Call, Failure, FromThread, Ready, ThreadInput, ToThread } from './sqliteThread.ts';
import type { Database, RunOptions, Transaction } from './transaction.ts';

/** How many calls may wait for the thread. More get an error. */
const pendingWritesMax = 8_192;
/** The most calls in one commit. */
const groupMax = 512;
/** This many calls are sent at once: the thread commits them while this one reads the next requests. */
const groupEager = 24;
/** Groups that were sent and not answered: one is committed, and the others keep the thread busy. */
const groupsInFlightMax = 3;
const readBusyTimeoutMs = 5_000;
/** The thread's garbage is short-lived rows, which need much less than the default. */
const threadYoungGenerationMb = 8;

export interface SqliteOptions {
  readonly file: string;
  readonly transactionsUrl: string;
  /** Called once if the thread dies. Nothing can be stored afterwards. */
  readonly onFatal: (error: Error) => void;
  /** Called with the number of calls of each group. */
  readonly onGroup?: ((calls: number) => void) | undefined;
}

interface Caller {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

// SQLITE_FULL, SQLITE_IOERR, SQLITE_BUSY, SQLITE_READONLY, SQLITE_CANTOPEN: faults of the disk, not of the caller.
const unavailableCodes = new Set([5, 8, 10, 13, 14]);

function asError(error: Failure | (Error & { errcode?: number })): Error {
  const { message, errcode } = error;
  if ('isLate' in error && error.isLate) return tooLate();
  const cause = error instanceof Error ? error : new Error(message);
  // The low byte of an extended result code is the primary one.
  if (errcode === undefined || !unavailableCodes.has(errcode & 0xff)) return cause;
  return new AppError('database_unavailable', 'The database cannot be used right now.', {
    retryAfterS: 1,
    cause,
  });
}

function shuttingDown(): AppError {
  return new AppError('shutting_down', 'The server is shutting down; try again in a moment.', {
    retryAfterS: 5,
  });
}

/** Opens and migrates the file. Throws if a newer version has written it, or if commits would not be durable. */
export async function openSqlite(options: SqliteOptions): Promise<Database & { readonly ready: Ready }> {
  const workerData: ThreadInput = { file: options.file, transactionsUrl: options.transactionsUrl };
  const thread = new Worker(programFile('db/sqliteThread.ts'), {
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb: threadYoungGenerationMb },
  });
  const listeners: (() => void)[] = [];
  const notificationListeners: ((topics: readonly string[]) => void)[] = [];
  const started = Promise.withResolvers<Ready>();
  /** Callers whose groups were sent, oldest first. The thread answers in this order. */
  const inFlight: Caller[][] = [];
  /** The calls of the next groups, and their callers by the same index. */
  let calls: Call[] = [];
  let callers: Caller[] = [];
  let pending = 0;
  let dead: Error | undefined;
  let closing: Promise<void> | undefined;
  let ending = false;
  let running = false;

  function send(message: ToThread): void {
    thread.postMessage(message);
  }

  /** Calls collect while the thread commits, so that more of them share a commit under load. */
  function flush(): void {
    while (calls.length > 0 && inFlight.length < groupsInFlightMax) {
      send({ type: 'calls', calls: calls.slice(0, groupMax) });
      const group = callers.slice(0, groupMax);
      inFlight.push(group);
      options.onGroup?.(group.length);
      calls = calls.slice(groupMax);
      callers = callers.slice(groupMax);
    }
  }

  function settle({ values, failures }: Answers): void {
    const group = inFlight.shift() ?? [];
    pending -= group.length;
    group.forEach((caller, place) => {
      const failure = failures?.get(place);
      if (failure === undefined) caller.resolve(values[place]);
      else caller.reject(asError(failure));
    });
  }

  function die(error: Error): void {
    if (dead !== undefined || ending) return;
    dead = new AppError('database_unavailable', 'The database has failed; the server is shutting down.', {
      retryAfterS: 5,
      cause: error,
    });
    started.reject(error);
    if (!running) return;
    // The thread may have committed the calls that it was given.
    for (const caller of inFlight.flat()) caller.reject(outcomeUnknown(error));
    for (const caller of callers) caller.reject(dead);
    inFlight.length = 0;
    calls = [];
    callers = [];
    pending = 0;
    options.onFatal(error);
  }

  thread.on('message', (message: FromThread) => {
    if (message.type === 'answers') {
      settle(message);
      flush();
    } else if (message.type === 'ready') started.resolve(message.ready);
    else for (const listener of listeners) listener();
  });
  thread.on('error', die);
  thread.on('exit', () => die(new Error('the SQLite thread ended')));

  function write(name: string, input: unknown, deadline: number | undefined): Promise<unknown> {
    if (pending >= pendingWritesMax) {
      return Promise.reject(
        new AppError('overloaded', 'Too many writes are waiting; try again in a moment.', { retryAfterS: 1 }),
      );
    }
    return new Promise((resolve, reject) => {
      pending += 1;
      callers.push({ resolve, reject });
      calls.push(
        deadline === undefined
          ? { name, input }
          : { name, input, dueAt: monotonicMs() + deadline - performance.now() },
      );
      if (calls.length === 1) setImmediate(flush);
      else if (calls.length === groupEager) flush();
    });
  }

  function close(): Promise<void> {
    closing ??= closeOnce();
    return closing;
  }

  async function closeOnce(): Promise<void> {
    // Pending calls are answered first.
    while (pending > 0 && dead === undefined) await new Promise((done) => setImmediate(done));
    ending = true;
    const ended =
      dead === undefined ? new Promise<void>((done) => thread.once('exit', () => done())) : undefined;
    // The last connection to close removes the write-ahead log, and only a writer can.
    await slowReads.close();
    reader?.close();
    send({ type: 'close' });
    await ended;
  }

  const slowReads = createSlowReads(workerData, asError);
  let reader: ReturnType<typeof openReader> | undefined;
  const ready = await started.promise.catch((error: Error) => {
    throw new RefusalError(`The database ${options.file} cannot be opened: ${error.message}.`);
  });
  if (ready.unknownMigrations.length > 0) {
    await close();
    throw new RefusalError(newerDatabaseMessage(ready.unknownMigrations));
  }
  if (ready.synchronous !== 2 || ready.journalMode !== 'wal') {
    await close();
    throw new RefusalError(
      `SQLite cannot guarantee durable commits on this file system (journal ${ready.journalMode}, synchronous ${ready.synchronous}). Choose a data folder on a local disk.`,
    );
  }
  running = true;
  reader = openReader(options.file);
  const { read } = reader;

  return {
    kind: 'sqlite',
    ready,
    // Not async, because every creation would pay for it.
    run: <In, Out>(transaction: Transaction<In, Out>, input: In, options: RunOptions = {}) => {
      if (dead !== undefined) return Promise.reject(dead);
      if (closing !== undefined) return Promise.reject(shuttingDown());
      if (transaction.access === 'write')
        return write(transaction.name, input, options.deadline) as Promise<Out>;
      if (transaction.isSlow) return slowReads.run(transaction.name, input) as Promise<Out>;
      try {
        return Promise.resolve(read(transaction, input));
      } catch (error) {
        return Promise.reject(asError(error as Error & { errcode?: number }));
      }
    },
    onForeignChange: (listener) => {
      listeners.push(listener);
    },
    notify: (topics) => {
      for (const listener of notificationListeners) listener(topics);
    },
    onNotification: (listener) => {
      notificationListeners.push(listener);
    },
    close,
  };
}

function openReader(file: string) {
  const connection = new DatabaseSync(file, { readOnly: true, timeout: readBusyTimeoutMs });
  const queries = createSqliteQueries();
  const { drive, forget } = createSqliteDriver(connection);
  return {
    read: <In, Out>(transaction: Transaction<In, Out>, input: In): Out =>
      drive(transaction.steps(queries, input)),
    close: () => {
      forget();
      connection.close();
    },
  };
}

// SQLite: writes go to a thread of their own, reads to a read-only connection of this one.
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { AppError, RefusalError } from '../errors.ts';
import { programFile } from '../process/program.ts';
import { newerDatabaseMessage } from './migrate.ts';
import { outcomeUnknown, tooLate } from './outcomes.ts';
import { createSqliteQueries } from './queries.ts';
import { createSqliteDriver, monotonicMs } from './sqliteDriver.ts';
import type { Answers, Call, Failure, FromThread, Ready, ThreadInput, ToThread } from './sqliteThread.ts';
import type { Database, RunOptions, Transaction } from './transaction.ts';

/** Calls that may wait for the thread; above it callers are told to come back. */
const pendingWritesMax = 8_192;
/** Calls that share a commit at most. */
const groupMax = 512;
/** So many calls leave at once: the thread commits them while this one reads the next requests. */
const groupEager = 24;
/** Groups that the thread has and has not answered: one that commits, the others so that it never idles. */
const groupsInFlightMax = 3;
const readBusyTimeoutMs = 5_000;
/** The thread's garbage is short-lived rows; the default room for it is many times what it needs. */
const threadYoungGenerationMb = 8;

export interface SqliteOptions {
  readonly file: string;
  readonly transactionsUrl: string;
  /** Called once when the thread died: nothing can be stored from then on. */
  readonly onFatal: (error: Error) => void;
}

interface Caller {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

// SQLITE_FULL, SQLITE_IOERR, SQLITE_BUSY, SQLITE_READONLY, SQLITE_CANTOPEN: the disk's fault, not the caller's.
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

/** Opens the file, migrated. Refuses where a newer version wrote it, or where commits would not reach the disk. */
export async function openSqlite(options: SqliteOptions): Promise<Database & { readonly ready: Ready }> {
  const workerData: ThreadInput = { file: options.file, transactionsUrl: options.transactionsUrl };
  const thread = new Worker(programFile('db/sqliteThread.ts'), {
    workerData,
    resourceLimits: { maxYoungGenerationSizeMb: threadYoungGenerationMb },
  });
  const listeners: (() => void)[] = [];
  const notificationListeners: ((topics: readonly string[]) => void)[] = [];
  const started = Promise.withResolvers<Ready>();
  /** Those whose group the thread has, oldest first: it answers in this order. */
  const inFlight: Caller[][] = [];
  /** What leaves with the next groups, and who waits for it: in step, for answers go by the place alone. */
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

  /** While the thread commits, calls gather here: the busier it is, the more share a commit. */
  function flush(): void {
    while (calls.length > 0 && inFlight.length < groupsInFlightMax) {
      send({ type: 'calls', calls: calls.slice(0, groupMax) });
      inFlight.push(callers.slice(0, groupMax));
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
    // Whoever still waits gets an answer first.
    while (pending > 0 && dead === undefined) await new Promise((done) => setImmediate(done));
    ending = true;
    const ended =
      dead === undefined ? new Promise<void>((done) => thread.once('exit', () => done())) : undefined;
    // The last connection to close tidies up the log, and only a writer can.
    reader?.close();
    send({ type: 'close' });
    await ended;
  }

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
    // Not async: every creation would pay for it.
    run: <In, Out>(transaction: Transaction<In, Out>, input: In, options: RunOptions = {}) => {
      if (dead !== undefined) return Promise.reject(dead);
      if (closing !== undefined) return Promise.reject(shuttingDown());
      if (transaction.access === 'write')
        return write(transaction.name, input, options.deadline) as Promise<Out>;
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

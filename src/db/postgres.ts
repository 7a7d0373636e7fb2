// The PostgreSQL engine: runs each transaction on a pooled client with a deadline, alone or in a set with others, and
// retries it when that is safe.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { AppError } from '../errors.ts';
import { endWithin, GuardedClient } from './postgresClient.ts';
import { ConnectFailed, DeadlinePassed, describeFault, type Fault, faultOf } from './postgresFaults.ts';
import { migratePostgres } from './postgresMigration.ts';
import { openPostgresNotifications } from './postgresNotifications.ts';
import { createSets } from './postgresSets.ts';
import { type Attempt, beforeDeadline, drive, driveSlowRead, driveWrite } from './postgresTransaction.ts';
import { createPostgresQueries } from './queries.ts';
import type { AnyTransaction, Database, RunOptions, Transaction } from './transaction.ts';

/** How many callers may wait for a client. More get an error. */
const waitingMax = 4_096;
const connectTimeoutMs = 5_000;
/** A connection that was idle this long is probed, so that a dead network is noticed. */
const keepAliveMs = 10_000;
const statementTimeoutMs = 15_000;
/** A process that sleeps in the middle of a transaction must not hold its locks against all others. */
const idleInTransactionMs = 3_000;
/** Longer than `idleInTransactionMs`, so that a sleeping process loses its lock before others give up. */
const lockTimeoutMs = 5_000;
/** A plan that was made while a table was small would be kept while it grows. */
const sessionOptions = '-c plan_cache_mode=force_custom_plan';
const writeMs = 10_000;
/**
 * Longer than `statementTimeoutMs`: the server normally reports a timeout first, and this one covers a dead network.
 */
const readMs = 20_000;
const notifyMs = 5_000;
const attemptsMax = 5;
const readOnlyAttemptsMax = 2;
const staleAttemptsMax = 2;
const pauseFirstMs = 10;
const pauseMaxMs = 500;
/** Other processes may write without a notification, so caches are cleared this often. */
const foreignChangeMs = 800;
const int8Oid = 20;

export interface PostgresOptions {
  readonly url: string;
  /** How many connections to open at most, besides the one that listens for notifications. */
  readonly connectionsMax: number;
  readonly onIdleError: (error: Error) => void;
  /** Called with the number of calls of each set. */
  readonly onSet?: ((calls: number) => void) | undefined;
}

const keptFaults: ReadonlySet<Fault> = new Set<Fault>(['conflict', 'locked', 'late', 'other']);

/** The number of attempts for a transaction that was certainly not committed. */
const attemptsOf: Partial<Record<Fault, number>> = {
  conflict: attemptsMax,
  lost: attemptsMax,
  readOnly: readOnlyAttemptsMax,
  staleStatement: staleAttemptsMax,
};

/** The pool's error message if no client became free in time. */
const poolTimeoutText = 'timeout exceeded when trying to connect';

function tooManyWait(): AppError {
  return new AppError(
    'overloaded',
    'Too many requests are waiting for the database; try again in a moment.',
    {
      retryAfterS: 1,
    },
  );
}

function mayRepeat({ repeatable }: AnyTransaction, fault: Fault, isUnknown: boolean, attempt: number) {
  if (isUnknown) return repeatable && fault !== 'other';
  return attempt < (attemptsOf[fault] ?? 0);
}

function pauseBefore(attempt: number, fault: Fault): number {
  return fault === 'conflict' || fault === 'staleStatement'
    ? 0
    : Math.min(pauseMaxMs, pauseFirstMs * 2 ** attempt);
}

/** Connects and migrates. Throws if a newer version has written the database, or if it does not answer. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const connection = {
    connectionString: options.url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: 'parley',
  };
  const queries = createPostgresQueries();
  await migratePostgres(() => new GuardedClient(connection), queries);
  const clients = new Set<GuardedClient>();
  /** Increases when connections must be replaced: they lead to a former primary, or their statements are outdated. */
  let generation = 0;

  class PooledClient extends GuardedClient {
    readonly generation = generation;
    constructor(config?: pg.ClientConfig) {
      super(config);
      clients.add(this);
      this.socket.once('close', () => clients.delete(this));
    }
  }

  const pool = new pg.Pool({
    ...connection,
    Client: PooledClient,
    max: options.connectionsMax,
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    options: sessionOptions,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    types: {
      // Counters and times stay far below 2^53.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === int8Oid ? Number : pg.types.getTypeParser(oid, format),
    } as pg.CustomTypesConfig,
  });
  pool.on('error', options.onIdleError);

  async function acquire(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect().catch((error: Error) => {
        throw error.message === poolTimeoutText ? tooManyWait() : new ConnectFailed(error);
      });
      if ((client as unknown as PooledClient).generation === generation) return client;
      client.release(true);
    }
  }

  async function withClient<Out>(
    attempt: Attempt,
    work: (client: pg.PoolClient) => Promise<Out>,
  ): Promise<Out> {
    if (pool.waitingCount >= waitingMax) throw tooManyWait();
    const client = await acquire();
    let isKept = true;
    try {
      if (performance.now() >= attempt.deadline) throw new DeadlinePassed();
      return await beforeDeadline(attempt, work(client));
    } catch (error) {
      isKept = keptFaults.has(faultOf(error));
      throw error;
    } finally {
      client.release(!isKept);
    }
  }

  function runOnce<In, Out>(transaction: Transaction<In, Out>, input: In, deadline: number) {
    const { access, steps, keepsPlans = false, isSlow = false } = transaction;
    const attempt: Attempt = { deadline, keepsPlans, committing: false };
    const driveRead = isSlow ? driveSlowRead : drive;
    return withClient(attempt, (client) =>
      access === 'read'
        ? driveRead(client, steps(queries, input))
        : driveWrite(client, steps(queries, input), attempt),
    );
  }

  function onFault(error: unknown): void {
    const fault = faultOf(error);
    if (fault === 'readOnly' || fault === 'staleStatement') generation += 1;
  }

  /** `unknown` is the error of an earlier attempt that may have been committed. */
  async function runAlone<In, Out>(
    transaction: Transaction<In, Out>,
    input: In,
    deadline: number,
    unknown?: unknown,
  ): Promise<Out> {
    let unknownError = unknown;
    for (let attempt = 1; ; attempt++) {
      try {
        return await runOnce(transaction, input, deadline);
      } catch (error) {
        onFault(error);
        const fault = faultOf(error);
        if (fault === 'unknown') unknownError ??= error;
        const pauseMs = pauseBefore(attempt, fault);
        const isInTime = performance.now() + pauseMs < deadline;
        if (!isInTime || !mayRepeat(transaction, fault, unknownError !== undefined, attempt))
          throw describeFault(unknownError ?? error);
        if (pauseMs > 0) await pause(pauseMs);
      }
    }
  }

  const sets = createSets({
    connectionsMax: options.connectionsMax,
    runOnce,
    runAlone,
    onFault,
    onSet: options.onSet,
    tooManyWait,
  });

  function run<In, Out>(
    transaction: Transaction<In, Out>,
    input: In,
    { deadline = performance.now() + (transaction.access === 'read' ? readMs : writeMs) }: RunOptions = {},
  ): Promise<Out> {
    return sets.run(transaction, input, deadline) ?? runAlone(transaction, input, deadline);
  }

  const listeners: (() => void)[] = [];
  const notificationListeners: ((topics: readonly string[]) => void)[] = [];
  const reportForeignChange = () => {
    for (const listener of listeners) listener();
  };
  const reportNotification = (topics: readonly string[]) => {
    for (const listener of notificationListeners) listener(topics);
  };
  const poll = setInterval(reportForeignChange, foreignChangeMs);
  const bell = openPostgresNotifications({
    createClient: () => new GuardedClient({ ...connection, application_name: 'parley bell' }),
    query: (text, values) =>
      withClient({ deadline: performance.now() + notifyMs, committing: false }, (client) =>
        client.query(text, values),
      ),
    onNotification: reportNotification,
    onMissed: reportForeignChange,
  });

  async function close(): Promise<void> {
    clearInterval(poll);
    // The last notifications are sent over the pool.
    await endWithin(
      bell.close().then(() => pool.end()),
      clients,
    );
  }
  let closing: Promise<void> | undefined;

  return {
    kind: 'postgres',
    run,
    onForeignChange: (listener) => {
      listeners.push(listener);
    },
    notify: (topics) => {
      reportNotification(topics);
      bell.notify(topics);
    },
    onNotification: (listener) => {
      notificationListeners.push(listener);
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

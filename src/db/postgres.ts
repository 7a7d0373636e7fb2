// PostgreSQL: each transaction on a pooled client, driven again when it lost a race with another one.
import pg from 'pg';
import { AppError, RefusalError } from '../errors.ts';
import { migrate, newerDatabaseMessage } from './migrate.ts';
import { openPostgresBell } from './postgresBell.ts';
import { createPostgresQueries } from './queries.ts';
import type { Database, Steps, Transaction } from './transaction.ts';

const poolMax = 10;
/** Callers that may wait for a client; above it they are told to come back. */
const waitingMax = 4_096;
const connectTimeoutMs = 5_000;
const statementTimeoutMs = 15_000;
/** A process that sleeps in the middle of a transaction must not hold its locks against all others. */
const idleInTransactionMs = 3_000;
/** A little more than the server takes, so that its own answer comes first; this one is for a dead network. */
const queryTimeoutMs = 20_000;
const endTimeoutMs = 5_000;
const attemptsMax = 5;
/** Others write without telling us, so caches are told to forget this often. */
const foreignChangeMs = 800;
const int8Oid = 20;

const conflictCodes = new Set(['40001', '40P01']);
// Connection failures, shutdown, too many connections, out of disk, read-only after a failover: see the manual's
// appendix of error codes; then what the operating system and the client itself say.
const unavailable = /^(08|57P|53|25006|E(?!RR_)[A-Z_]+$)/;
const unavailableText = /timeout|terminated|not queryable|connection error/i;

export interface PostgresOptions {
  readonly url: string;
  readonly onIdleError: (error: Error) => void;
}

function errorCode(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '');
}

function failure(error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof AppError) return error;
  if (conflictCodes.has(code))
    return new AppError('overloaded', 'Too many requests change the same thing; try again.', {
      retryAfterS: 1,
      cause: error,
    });
  if (!unavailable.test(code) && !unavailableText.test(String(error))) return error;
  return unreachable(error);
}

function unreachable(cause: unknown): AppError {
  return new AppError('database_unavailable', 'The database cannot be reached right now.', {
    retryAfterS: 2,
    cause,
  });
}

function ignore(): void {}

async function drive<Out>(client: pg.ClientBase, steps: Steps<Out>): Promise<Out> {
  let step = steps.next();
  while (!step.done) {
    const { sql, parameters } = step.value.compile();
    const result = await client.query({ text: sql, values: parameters as unknown[] });
    step = steps.next(result.rows);
  }
  return step.value;
}

async function driveWrite<Out>(client: pg.ClientBase, steps: Steps<Out>): Promise<Out> {
  await client.query('begin');
  try {
    const out = await drive(client, steps);
    await client.query('commit');
    return out;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

/** Connects and migrates. Refuses where a newer version wrote the database or nobody answers. */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const connection = {
    connectionString: options.url,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    application_name: 'parley',
  };
  const pool = new pg.Pool({
    ...connection,
    max: poolMax,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: queryTimeoutMs,
    types: {
      // Counters and times stay far below 2^53.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === int8Oid ? Number : pg.types.getTypeParser(oid, format),
    } as pg.CustomTypesConfig,
  });
  pool.on('error', options.onIdleError);
  const queries = createPostgresQueries();

  async function withClient<Out>(work: (client: pg.PoolClient) => Promise<Out>): Promise<Out> {
    if (pool.waitingCount >= waitingMax) {
      throw new AppError('overloaded', 'Too many requests wait for the database; try again in a moment.', {
        retryAfterS: 1,
      });
    }
    const client = await pool.connect().catch((error: Error) => {
      throw unreachable(error);
    });
    // A connection that breaks under a query rejects it, and is no reason to end the process.
    client.on('error', ignore);
    let broken: Error | undefined;
    try {
      return await work(client);
    } catch (error) {
      if (failure(error) !== error && !conflictCodes.has(errorCode(error))) broken = error as Error;
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(broken);
    }
  }

  async function run<In, Out>(transaction: Transaction<In, Out>, input: In): Promise<Out> {
    const work = transaction.access === 'read' ? drive : driveWrite;
    for (let attempt = 1; ; attempt++) {
      try {
        return await withClient((client) => work(client, transaction.steps(queries, input)));
      } catch (error) {
        if (conflictCodes.has(errorCode(error)) && attempt < attemptsMax) continue;
        throw failure(error);
      }
    }
  }

  /** On a connection of its own: one of the pool gives a query up after a while, and a migration may take longer. */
  async function migrateAlone(): Promise<string[]> {
    const client = new pg.Client(connection);
    client.on('error', ignore);
    try {
      await client.connect();
      return await driveWrite(client, migrate(queries));
    } finally {
      await client.end();
    }
  }

  try {
    const unknown = await migrateAlone();
    if (unknown.length > 0) throw new RefusalError(newerDatabaseMessage(unknown));
  } catch (error) {
    await pool.end();
    if (error instanceof RefusalError) throw error;
    const { message, code } = ((error as Error).cause ?? error) as { message?: string; code?: string };
    throw new RefusalError(
      `PostgreSQL at DATABASE_URL cannot be used: ${message || code}. Check that it runs and that user, password and database name are right.`,
    );
  }

  const listeners: (() => void)[] = [];
  const ringListeners: ((topics: readonly string[]) => void)[] = [];
  const tellForeign = () => {
    for (const listener of listeners) listener();
  };
  const tellRung = (topics: readonly string[]) => {
    for (const listener of ringListeners) listener(topics);
  };
  const poll = setInterval(tellForeign, foreignChangeMs);
  const bell = openPostgresBell({
    url: options.url,
    query: (text, values) => withClient((client) => client.query(text, values)),
    onRung: tellRung,
    onMissed: tellForeign,
  });

  return {
    kind: 'postgres',
    run,
    onForeignChange: (listener) => {
      listeners.push(listener);
    },
    ring: (topics) => {
      tellRung(topics);
      bell.ring(topics);
    },
    onRing: (listener) => {
      ringListeners.push(listener);
    },
    close: async () => {
      clearInterval(poll);
      // Clients on a dead network never say goodbye.
      const ended = Promise.all([bell.close(), pool.end()]);
      await Promise.race([ended, new Promise((done) => setTimeout(done, endTimeoutMs).unref())]);
    },
  };
}

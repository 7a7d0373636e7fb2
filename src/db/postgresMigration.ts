// Brings the PostgreSQL schema up to date when a process starts.
import { setTimeout as pause } from 'node:timers/promises';
import { RefusalError } from '../errors.ts';
import { migrate, migrations, newerDatabaseMessage } from './migrate.ts';
import { endWithin, type GuardedClient } from './postgresClient.ts';
import { codeOf, faultOf, isRefusal } from './postgresFaults.ts';
import { checkSessions } from './postgresSessions.ts';
import { drive } from './postgresTransaction.ts';
import type { Queries } from './transaction.ts';

/** Retries cover a database that is starting or failing over. */
const attemptsMax = 20;
const againMs = 500;
const startingUp = '57P03';
const notAllowed = '42501';

/** PostgreSQL has refused a statement, so that it can be reached, and nothing was changed. */
function migrationFault(error: unknown, migration: string | undefined): RefusalError {
  const what = migration === undefined ? 'The schema' : `The migration ${migration}`;
  const why = (error as Error).message;
  const remedy =
    codeOf(error) === notAllowed
      ? ' The user in DATABASE_URL must own the tables and be allowed to create more in the schema.'
      : ' Nothing was changed: the version that ran before still works.';
  return new RefusalError(`${what} could not be applied to the database at DATABASE_URL: ${why}.${remedy}`);
}

/** Uses its own connection, because pooled ones have statement timeouts that a migration may exceed. */
async function migrateOnce(createClient: () => GuardedClient, queries: Queries): Promise<string[]> {
  const [client, other] = [createClient(), createClient()];
  try {
    await Promise.all([client.connect(), other.connect()]);
    await checkSessions(client, other);
    let current: string | undefined;
    try {
      await client.query('begin');
      const unknown = await drive(
        client,
        migrate(queries, migrations, (name) => (current = name)),
      );
      await client.query('commit');
      return unknown;
    } catch (error) {
      throw isPassing(error) || !isRefusal(error) ? error : migrationFault(error, current);
    }
  } finally {
    // Closing the connection rolls back an uncommitted migration.
    await endWithin(Promise.all([client.end(), other.end()]), [client, other]);
  }
}

function isPassing(error: unknown): boolean {
  return faultOf(error) === 'lost' || codeOf(error) === startingUp;
}

async function migratePatiently(createClient: () => GuardedClient, queries: Queries): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrateOnce(createClient, queries);
    } catch (error) {
      if (!isPassing(error) || attempt === attemptsMax) throw error;
      await pause(againMs);
    }
  }
}

/** Throws a RefusalError if a newer version has written the database, or if it or the way to it cannot be used. */
export async function migratePostgres(createClient: () => GuardedClient, queries: Queries): Promise<void> {
  const unknown = await migratePatiently(createClient, queries).catch((error) => {
    if (error instanceof RefusalError) throw error;
    const { message, code } = error as { message?: string; code?: string };
    throw new RefusalError(
      `PostgreSQL at DATABASE_URL is not available: ${message || code}. Check that it runs and that user, password and database name are right.`,
    );
  });
  if (unknown.length > 0) throw new RefusalError(newerDatabaseMessage(unknown));
}

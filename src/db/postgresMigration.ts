// Brings the PostgreSQL schema up to date when a process starts.
import { setTimeout as pause } from 'node:timers/promises';
import { RefusalError } from '../errors.ts';
import { migrate, newerDatabaseMessage } from './migrate.ts';
import { endWithin, type GuardedClient } from './postgresClient.ts';
import { codeOf, faultOf } from './postgresFaults.ts';
import { checkSessions } from './postgresSessions.ts';
import { drive } from './postgresTransaction.ts';
import type { Queries } from './transaction.ts';

/** Retries cover a database that is starting or failing over. */
const attemptsMax = 20;
const againMs = 500;
const startingUp = '57P03';

/** Uses its own connection, because pooled ones have statement timeouts that a migration may exceed. */
async function migrateOnce(createClient: () => GuardedClient, queries: Queries): Promise<string[]> {
  const [client, other] = [createClient(), createClient()];
  try {
    await Promise.all([client.connect(), other.connect()]);
    await checkSessions(client, other);
    await client.query('begin');
    const unknown = await drive(client, migrate(queries));
    await client.query('commit');
    return unknown;
  } finally {
    // Closing the connection rolls back an uncommitted migration.
    await endWithin(Promise.all([client.end(), other.end()]), [client, other]);
  }
}

async function migratePatiently(createClient: () => GuardedClient, queries: Queries): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await migrateOnce(createClient, queries);
    } catch (error) {
      const isPassing = faultOf(error) === 'lost' || codeOf(error) === startingUp;
      if (!isPassing || attempt === attemptsMax) throw error;
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

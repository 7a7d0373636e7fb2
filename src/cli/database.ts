// Opens the database for a command, beside a running service or without one, and closes it again.
import { openConfiguredDatabase } from '../app.ts';
import { readConfig } from '../config.ts';
import type { Database } from '../db/transaction.ts';

export async function withDatabase<Out>(work: (database: Database) => Promise<Out>): Promise<Out> {
  process.umask(0o077);
  const config = readConfig(process.env);
  const failed = Promise.withResolvers<never>();
  const database = await openConfiguredDatabase(config, failed.reject);
  try {
    return await Promise.race([work(database), failed.promise]);
  } finally {
    await database.close();
  }
}

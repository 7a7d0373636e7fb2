// Opens the database that the configuration names.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RefusalError } from '../errors.ts';
import { openSqlite } from './sqlite.ts';
import type { Database } from './transaction.ts';

export interface DatabaseOptions {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly transactionsUrl: string;
  readonly onFatal: (error: Error) => void;
  readonly onIdleError: (error: Error) => void;
}

/** Makes the data folder, readable by its owner alone. */
export function ensureDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new RefusalError(
      `The data folder ${dataDir} cannot be made: ${(error as Error).message}. Choose another with PARLEY_DATA_DIR.`,
    );
  }
}

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  if (options.databaseUrl !== undefined) {
    // Loaded where it is used: SQLite alone needs no client of another database.
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres({ url: options.databaseUrl, onIdleError: options.onIdleError });
  }
  const file = join(options.dataDir, 'parley.db');
  return openSqlite({ file, transactionsUrl: options.transactionsUrl, onFatal: options.onFatal });
}

// Opens the database that the configuration names.
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RefusalError } from '../errors.ts';
import { openSqlite } from './sqlite.ts';
import type { Database } from './transaction.ts';

export interface DatabaseOptions {
  readonly databaseUrl: string | undefined;
  readonly databaseConnections: number;
  readonly dataDir: string;
  readonly transactionsUrl: string;
  readonly onFatal: (error: Error) => void;
  readonly onIdleError: (error: Error) => void;
  /** Called with the number of calls of each commit that calls share. */
  readonly onCommit?: ((calls: number) => void) | undefined;
}

/** Like `mkdirSync` with `recursive`, which never returns where the system has no folder to make one in, as in /proc. */
export function makeFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  const above = dirname(folder);
  if (found === undefined && above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** Makes the data folder, readable by its owner alone. */
export function ensureDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir);
  } catch (error) {
    throw new RefusalError(
      `The data folder ${dataDir} cannot be created: ${(error as Error).message}. Choose another one with PARLEY_DATA_DIR.`,
    );
  }
}

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  if (options.databaseUrl !== undefined) {
    // Loaded only if it is used, because SQLite does not need the client.
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres({
      url: options.databaseUrl,
      connectionsMax: options.databaseConnections,
      onIdleError: options.onIdleError,
      onSet: options.onCommit,
    });
  }
  const file = join(options.dataDir, 'parley.db');
  const { transactionsUrl, onFatal, onCommit } = options;
  return openSqlite({ file, transactionsUrl, onFatal, onGroup: onCommit });
}

// Opens the configured database with every transaction, for the service and for commands.
import type { Config } from './config.ts';
import { ensureDataDir, openDatabase } from './db/open.ts';
import type { Database } from './db/transaction.ts';
import { programFile } from './process/program.ts';

const transactionsUrl = programFile('transactions.ts').href;

export function openConfiguredDatabase(
  { databaseUrl, dataDir }: Pick<Config, 'databaseUrl' | 'dataDir'>,
  onFatal: (error: Error) => void,
  onIdleError: (error: Error) => void = () => {},
): Promise<Database> {
  ensureDataDir(dataDir);
  return openDatabase({ databaseUrl, dataDir, transactionsUrl, onFatal, onIdleError });
}

// Opens the configured database with every transaction, for the service and for commands.
import { type Config, databaseConnectionsDefault } from './config.ts';
import { ensureDataDir, openDatabase } from './db/open.ts';
import type { Database } from './db/transaction.ts';
import { programFile } from './process/program.ts';

const transactionsUrl = programFile('transactions.ts').href;

type DatabaseConfig = Pick<Config, 'databaseUrl' | 'dataDir'> & Partial<Pick<Config, 'databaseConnections'>>;

export function openConfiguredDatabase(
  { databaseUrl, dataDir, databaseConnections = databaseConnectionsDefault }: DatabaseConfig,
  onFatal: (error: Error) => void,
  onIdleError: (error: Error) => void = () => {},
  onCommit?: (calls: number) => void,
): Promise<Database> {
  ensureDataDir(dataDir);
  return openDatabase({
    databaseUrl,
    databaseConnections,
    dataDir,
    transactionsUrl,
    onFatal,
    onIdleError,
    onCommit,
  });
}

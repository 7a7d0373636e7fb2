// Opens the database for a command, beside a running service or without one, and closes it again.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, readConfig } from '../config.ts';
import { openConfiguredDatabase } from '../database.ts';
import type { Database } from '../db/transaction.ts';
import { openVault } from '../encryption/vault.ts';
import { RefusalError } from '../errors.ts';
import { commandName } from '../process/program.ts';
import { createSettings, type Settings, type Writer } from '../settings/service.ts';
import { findUser } from '../users/store.ts';
import { serviceAddress } from './connection.ts';

/** Stands for a key in the audit: whoever may open the database needs none. */
export const commandLine = 'command-line';

export async function withDatabase<Out>(
  work: (database: Database, config: Config) => Promise<Out>,
  { mayCreate = false }: { mayCreate?: boolean } = {},
): Promise<Out> {
  process.umask(0o077);
  const config = readConfig(process.env);
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === undefined && !serviceAddress().isLocal)
    throw new RefusalError(
      `This works on the data folder of this machine, ${dataDir}, but PARLEY_URL names another: unset it, or run this there.`,
    );
  if (databaseUrl === undefined && !mayCreate && !existsSync(join(dataDir, 'parley.db')))
    throw new RefusalError(
      `There is no database in ${dataDir}. Run this where the service runs, or name its folder with PARLEY_DATA_DIR.`,
    );
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const database = await openConfiguredDatabase(config, failed.reject);
  try {
    return await Promise.race([work(database, config), failed.promise]);
  } finally {
    await database.close();
  }
}

/** The settings of a user who exists. */
export function withSettings<Out>(
  userName: string,
  work: (settings: Settings, writer: Writer) => Promise<Out>,
): Promise<Out> {
  return withDatabase(async (database, { dataDir, secretKeys }) => {
    const user = await database.run(findUser, userName);
    if (user === undefined)
      throw new RefusalError(`There is no such user; "${commandName} users list" shows them.`);
    const vault = await openVault({ database, dataDir, secretKeys });
    return work(createSettings({ database, vault }), { userId: user.id, keyId: commandLine });
  });
}

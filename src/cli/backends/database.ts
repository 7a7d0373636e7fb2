// Opens the local database for a command, whether or not a service runs, and closes it again.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { agentNamesOf, loadProfiles } from '../../agents/profiles.ts';
import type { Config } from '../../config.ts';
import { openConfiguredDatabase } from '../../database.ts';
import type { Database } from '../../db/transaction.ts';
import { openVault } from '../../encryption/vault.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { createSettings, type Settings, type Writer } from '../../settings/service.ts';
import { findUser } from '../../users/store.ts';
import { serviceAddress } from '../connection/connection.ts';
import { readCommandConfig } from '../connection/dataFolder.ts';

/** In the audit, this stands for a key: whoever can open the database needs none. */
export const commandLine = 'command-line';

/** PostgreSQL is only known when it answers. */
function hasDatabase({ databaseUrl, dataDir }: Config): boolean {
  return databaseUrl !== undefined || existsSync(join(dataDir, 'parley.db'));
}

/**
 * The configuration of a command that works on the local database. Throws a RefusalError if the user seems to mean another
 * machine, or if there is no database and the command may not create one.
 */
export function readLocalConfig({ mayCreate = false }: { mayCreate?: boolean } = {}): Config {
  const config = readCommandConfig();
  const { databaseUrl, dataDir } = config;
  const { isLocal, context } = serviceAddress();
  if (databaseUrl === undefined && !isLocal)
    throw new RefusalError(
      `This command works on the local data folder, ${dataDir}, but ${
        context === undefined
          ? 'PARLEY_URL names another machine: unset it'
          : `the current context "${context.name}" names another machine: run "${commandName} contexts local"`
      }, or run this command on that machine.`,
    );
  if (!mayCreate && !hasDatabase(config))
    throw new RefusalError(
      `There is no database in ${dataDir}. Run this command where the service runs, or set PARLEY_DATA_DIR to its data folder.`,
    );
  return config;
}

/** A command that creates the database says so, because the service may use another one. */
export async function withDatabase<Out>(
  work: (database: Database, config: Config) => Promise<Out>,
  options: { mayCreate?: boolean } = {},
): Promise<Out> {
  process.umask(0o077);
  const config = readLocalConfig(options);
  if (!hasDatabase(config))
    process.stderr.write(
      `There is no database in ${config.dataDir}, so this command creates it. If a service uses another data folder, repeat the command with PARLEY_DATA_DIR.\n`,
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

/** The values that `agent` in the settings may have. */
export function agentNamesIn({ agentsFile }: Config): string[] {
  return agentNamesOf(loadProfiles(agentsFile));
}

/** The settings of a user who exists. */
export function withSettings<Out>(
  userName: string,
  work: (settings: Settings, writer: Writer, config: Config) => Promise<Out>,
): Promise<Out> {
  return withDatabase(async (database, config) => {
    const { dataDir, secretKeys } = config;
    const user = await database.run(findUser, userName);
    if (user === undefined)
      throw new RefusalError(`There is no such user; "${commandName} users list" shows them.`);
    const vault = await openVault({ database, dataDir, secretKeys });
    const agentNames = () => agentNamesIn(config);
    const writer = { userId: user.id, keyId: commandLine };
    return work(createSettings({ database, vault, agentNames }), writer, config);
  });
}

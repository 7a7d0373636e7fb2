// `parley defaults get|set`.
import type { ChangeDefaults, DefaultSettings } from '../../client/parley.ts';
import { openVault } from '../../encryption/vault.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { ChangeDefaults as ChangeDefaultsSchema } from '../../settings/defaultsSchema.ts';
import { createDefaults, type Defaults } from '../../settings/defaultsService.ts';
import { defaultFields } from '../../settings/operatorDefaults.ts';
import { createSettings } from '../../settings/service.ts';
import { agentNamesIn, commandLine, withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import type { defaultsGetCommand, defaultsSetCommand } from '../declarations/defaults.ts';
import { exits } from '../exits.ts';
import { suggest } from '../syntax/suggestion.ts';
import { check, print, readSent } from './settings.ts';

interface DefaultsBackend {
  get(): Promise<DefaultSettings>;
  update(change: ChangeDefaults): Promise<unknown>;
}

function use<Out>(work: (defaults: Defaults) => Promise<Out>): Promise<Out> {
  return withDatabase(async (database, config) => {
    const { dataDir, secretKeys } = config;
    const vault = await openVault({ database, dataDir, secretKeys });
    const settings = createSettings({ database, vault, agentNames: () => agentNamesIn(config) });
    return work(createDefaults({ database, settings }));
  });
}

/** Over HTTP if the user named a service, otherwise in the local database. */
function defaultsBackend(): DefaultsBackend {
  if (isServiceNamed()) return connect().defaults;
  return {
    get: () => use((defaults) => defaults.get()),
    update: (change) => use((defaults) => defaults.update(commandLine, change)),
  };
}

function noDefault(name: string, known: readonly string[]): RefusalError {
  const meant = suggest(name, known);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return new RefusalError(
    `There is no default for such a setting.${hint} "${commandName} defaults get" shows all of them.`,
  );
}

export const getDefaults: Handler<typeof defaultsGetCommand> = async ({ args: { name } }) => {
  const record = await defaultsBackend().get();
  if (name !== undefined && !Object.hasOwn(record, name)) throw noDefault(name, Object.keys(record));
  print(name === undefined ? record : record[name as keyof typeof record]);
  return exits.done;
};

export const setDefault: Handler<typeof defaultsSetCommand> = async ({ args: { name, value } }) => {
  if (!defaultFields.some((known) => known === name)) throw noDefault(name, defaultFields);
  const change = { [name]: await readSent(name, value, 'defaults set') } as ChangeDefaults;
  check(ChangeDefaultsSchema, change);
  await defaultsBackend().update(change);
  return exits.done;
};

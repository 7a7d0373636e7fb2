// `parley provider-keys list|set|remove`.
import { RefusalError } from '../../errors.ts';
import { NewProviderKey, type ProviderKey } from '../../providerKeys/schema.ts';
import { createProviderKeys, type ProviderKeys } from '../../providerKeys/service.ts';
import type { Writer } from '../../settings/service.ts';
import { plainLine } from '../../text/plainText.ts';
import { ownerName } from '../../users/owner.ts';
import { compileCheck } from '../../validation/validation.ts';
import { withSettings } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import type {
  providerKeysListCommand,
  providerKeysRemoveCommand,
  providerKeysSetCommand,
} from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { readSecret } from '../inputs.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords } from '../terminal/table.ts';

interface Backend {
  list(): Promise<readonly ProviderKey[]>;
  set(provider: string, key: string): Promise<unknown>;
  remove(provider: string): Promise<unknown>;
}

/** Uses HTTP if the user named a service and no user, otherwise the local database. */
function openBackend(user: string | undefined): Backend {
  if (user === undefined && isServiceNamed()) {
    const { providerKeys } = connect();
    return {
      list: async () => (await providerKeys.list()).provider_keys,
      set: providerKeys.set,
      remove: providerKeys.delete,
    };
  }
  const use = <Out>(work: (keys: ProviderKeys, writer: Writer) => Promise<Out>) =>
    withSettings(user ?? ownerName, (settings, writer, { modelHosts }) =>
      work(createProviderKeys({ settings, modelHosts }), writer),
    );
  return {
    list: () => use(async (keys, { userId }) => (await keys.list(userId)).provider_keys),
    set: (provider, key) => use((keys, writer) => keys.set(writer, provider, key)),
    remove: (provider) => use((keys, writer) => keys.remove(writer, provider)),
  };
}

export const listProviderKeys: Handler<typeof providerKeysListCommand> = async ({ options }) => {
  const keys = await openBackend(options.user).list();
  printRecords(createOutput(options), keys, {
    headings: ['PROVIDER', 'API KEY'],
    row: ({ provider, is_set: isSet }) => [plainLine(provider), isSet ? 'stored' : '–'],
  });
  return exits.done;
};

export const setProviderKey: Handler<typeof providerKeysSetCommand> = async ({ args, options }) => {
  const backend = openBackend(options.user);
  const known = (await backend.list()).map(({ provider }) => provider);
  if (!known.includes(args.provider))
    throw new RefusalError(`There is no such provider. Known providers: ${known.map(plainLine).join(', ')}.`);
  const key = await readSecret('API key', `API key of ${plainLine(args.provider)}`);
  const fault = compileCheck(NewProviderKey)({ api_key: key });
  if (fault !== undefined) throw fault;
  await backend.set(args.provider, key);
  process.stderr.write(`The API key of ${plainLine(args.provider)} is stored.\n`);
  return exits.done;
};

export const removeProviderKey: Handler<typeof providerKeysRemoveCommand> = async ({ args, options }) => {
  await openBackend(options.user).remove(args.provider);
  process.stderr.write(`The API key of ${plainLine(args.provider)} is deleted.\n`);
  return exits.done;
};

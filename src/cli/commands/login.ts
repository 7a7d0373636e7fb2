// `parley login`, `logout` and `contexts`: the services that commands use without environment variables.
import { createParley, ParleyError } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { plainLine } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import {
  fetchFor,
  overridingVariable,
  parseServiceUrl,
  type ServiceAddress,
} from '../connection/connection.ts';
import {
  checkContextName,
  localContext,
  readContexts,
  removeContext,
  saveContext,
  switchContext,
} from '../connection/contexts.ts';
import type { contextsCommand, loginCommand, logoutCommand } from '../declarations/services.ts';
import { exitOfError, exits } from '../exits.ts';
import { readSecret } from '../inputs.ts';
import { causeOf } from '../terminal/faults.ts';
import { createOutput } from '../terminal/output.ts';
import { printRecords } from '../terminal/table.ts';

function defaultName(url: string): string {
  return new URL(url).host.replace(/[[\]]/g, '');
}

/** Asks the service whose key it is. */
async function findUser(address: ServiceAddress, key: string): Promise<string> {
  const { url } = address;
  const { user } = await createParley({ url, key, fetch: fetchFor(address) }).keys.me();
  if (typeof user !== 'string')
    throw new ParleyError('unexpected', 'The answer is not that of a Parley service.');
  return user;
}

function explain(url: string, error: ParleyError): string {
  if (error.code === 'unauthorized') return `${url} refuses this API key.`;
  return `${url}: ${plainLine(error.message)}${causeOf(error)}`;
}

function currentSentence(name: string): string {
  const variable = overridingVariable();
  const warning = variable === undefined ? '' : ` It is not used while ${variable} is set.`;
  return `The current context is ${name}.${warning}`;
}

export const login: Handler<typeof loginCommand> = async ({ args, options }) => {
  const { note } = createOutput({ json: false });
  const address = parseServiceUrl(args.url, 'The URL');
  const { url } = address;
  const name = options.name ?? defaultName(url);
  checkContextName(name);
  // Damaged contexts are reported before anybody types a key.
  readContexts();
  if (!address.isLocal && url.startsWith('http:'))
    note('This URL is not encrypted: others in the network can read your API key. Use https if you can.\n');
  const key = await readSecret('API key', `API key for ${url}`);
  try {
    const user = await findUser(address, key);
    saveContext({ name, url, key });
    note(`You are logged in to ${url} as ${plainLine(user)}. ${currentSentence(name)}\n`);
    return exits.done;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    note(`parley: ${explain(url, error)}\n`);
    return exitOfError(error);
  }
};

export const logout: Handler<typeof logoutCommand> = async ({ args }) => {
  if (args.context === localContext)
    throw new RefusalError(`"${localContext}" is the service on this machine and cannot be removed.`);
  const { name, url } = removeContext(args.context);
  createOutput({ json: false }).note(
    `The context ${name} and its API key are removed. The key is still valid at ${url}; "${commandName} keys revoke" revokes it.\n`,
  );
  return exits.done;
};

export const contexts: Handler<typeof contextsCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  if (args.context !== undefined) {
    switchContext(args.context);
    output.note(`${currentSentence(args.context)}\n`);
    return exits.done;
  }
  const { current, all } = readContexts();
  const records = [{ name: localContext, url: null }, ...all.map(({ name, url }) => ({ name, url }))].map(
    (record) => ({ ...record, current: record.name === (current?.name ?? localContext) }),
  );
  printRecords(output, records, {
    headings: ['', 'CONTEXT', 'URL'],
    row: (record) => [record.current ? '*' : '', record.name, record.url ?? 'this machine'],
  });
  return exits.done;
};

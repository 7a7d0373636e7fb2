// `parley settings get|set|import|export`.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { mask } from '../../mcp/secrets.ts';
import { commandName } from '../../process/program.ts';
import { AddGitProviders, NewSecret } from '../../secrets/schema.ts';
import { createSecrets } from '../../secrets/service.ts';
import {
  isDerived,
  PatchSettings,
  PostSettings,
  type SettingsChange,
  secretMembers,
} from '../../settings/schema.ts';
import type { Settings } from '../../settings/service.ts';
import { ownerName } from '../../users/owner.ts';
import { compileCheck } from '../../validation/validation.ts';
import { chooseAction } from '../actions.ts';
import type { Command } from '../command.ts';
import { connect, isAddressNamed } from '../connection.ts';
import { withSettings } from '../database.ts';
import { exits } from '../exits.ts';
import { type Imported, readImport } from '../importFile.ts';
import { readInput } from '../inputs.ts';
import { jsonLine, plainLine } from '../terminal/plainText.ts';
import { ask } from '../terminal/prompt.ts';

const help = `Usage: ${commandName} settings get [NAME] [--user USER]
       ${commandName} settings set NAME VALUE [--user USER]
       ${commandName} settings import FILE [--user USER]
       ${commandName} settings export [--user USER]

Reads and writes a user's settings (default user: ${ownerName}). A running service follows within a second.
Where PARLEY_URL is set and no user is named, get, set and export speak to that service, for the user of the key
in PARLEY_KEY or of the owner's; otherwise, and for import, the settings are those of this machine: in PARLEY_DATA_DIR
(default: ./data), or at DATABASE_URL.

get      Prints the record as JSON, or one member of it.
set      Stores one member. VALUE is JSON, or else taken as text; null clears it.
         Without VALUE it is read from standard input. Keys (${secretMembers.join(', ')})
         and mcp_config come only that way: nobody sees them in a process list or a shell history. At a terminal
         you are asked for a key, which is not shown as you type.
import   Reads settings.json or secrets.json of an OpenHands installation, or our own export.
export   Prints what import can read. It never holds the value of a secret.

Examples: ${commandName} settings set llm_model anthropic/claude-sonnet-4-5
          ${commandName} settings set llm_api_key < key.txt
`;

interface Asked {
  readonly words: readonly string[];
  /** Undefined: nobody was named. */
  readonly user: string | undefined;
}

type SettingsRecord = Awaited<ReturnType<Settings['read']>>;

/** Where the settings are: in a service that was named, or in the database of this machine. */
function placeOf({ user }: Asked) {
  if (user === undefined && isAddressNamed()) {
    const { settings } = connect();
    return {
      read: async () => (await settings.get()) as SettingsRecord,
      write: async (change: SettingsChange) => void (await settings.update(change)),
    };
  }
  const name = user ?? ownerName;
  return {
    read: () => withSettings(name, (settings, { userId }) => settings.read(userId)),
    write: async (change: SettingsChange) =>
      void (await withSettings(name, (settings, writer) => settings.update(writer, 'patch', change))),
  };
}

type Action = (asked: Asked) => Promise<void>;

function print(value: unknown): void {
  process.stdout.write(jsonLine(value, 2));
}

function checkedBy(schema: Parameters<typeof compileCheck>[0], value: unknown): void {
  const error = compileCheck(schema)(value);
  if (error !== undefined) throw error;
}

const get: Action = async (asked) => {
  const [name, ...rest] = asked.words;
  if (rest.length > 0) throw new RefusalError('Name one member, or none for all.');
  const record = await placeOf(asked).read();
  if (name !== undefined && !Object.hasOwn(record, name))
    throw new RefusalError('There is no such member of the settings.');
  print(name === undefined ? record : record[name as keyof typeof record]);
};

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** From standard input; at a terminal a key is typed, unseen. */
async function readValue(name: string): Promise<string> {
  if (!process.stdin.isTTY) return (await readInput()).trim();
  if (!secretMembers.some((member) => member === name))
    throw new RefusalError(
      `Say the value, or give it on standard input: ${commandName} settings set ${name} < FILE`,
    );
  return (await ask(`${name}: `, { hidden: true })).trim();
}

const set: Action = async (asked) => {
  const [name = '', value, ...rest] = asked.words;
  // Tool servers hold keys, too.
  const isSecret = [...secretMembers, 'mcp_config'].includes(name);
  if (name === '' || rest.length > 0) throw new RefusalError(`Say "${commandName} settings set NAME VALUE".`);
  if (isSecret && value !== undefined && value !== 'null')
    throw new RefusalError(`Give ${name} on standard input: ${commandName} settings set ${name} < FILE`);
  const input = value ?? (await readValue(name));
  const sent = isSecret && value === undefined && name !== 'mcp_config' ? input : parseValue(input);
  if (sent === '' || sent === mask) throw new RefusalError('The value is empty; null clears.');
  const change = { [name]: sent } as SettingsChange;
  checkedBy(PatchSettings, change);
  await placeOf(asked).write(change);
};

function checkImport({ settings, providers, secrets }: Imported): void {
  checkedBy(PostSettings, settings);
  checkedBy(AddGitProviders, { provider_tokens: providers });
  for (const secret of secrets) checkedBy(NewSecret, secret);
}

const importFile: Action = async ({ words: [file, ...rest], user: named }) => {
  if (named === undefined && isAddressNamed())
    throw new RefusalError(
      'import works on the database of this machine: unset PARLEY_URL, or name a user of this machine with --user.',
    );
  const user = named ?? ownerName;
  if (file === undefined || rest.length > 0) throw new RefusalError('Name one file.');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new RefusalError(`The file cannot be read: ${(error as Error).message}.`);
  }
  const imported = readImport(text);
  checkImport(imported);
  await withSettings(user, async (settings, writer) => {
    const secrets = createSecrets({ settings });
    await settings.update(writer, 'post', imported.settings);
    if (Object.keys(imported.providers).length > 0)
      await secrets.addGitProviders(writer, { provider_tokens: imported.providers });
    for (const secret of imported.secrets) await secrets.replace(writer, secret);
  });
  const count = Object.keys(imported.settings).length;
  const { ignored, providers } = imported;
  process.stderr.write(
    `Imported ${count} settings, ${Object.keys(providers).length} provider tokens, ${imported.secrets.length} secrets.\n`,
  );
  if (ignored.length > 0)
    process.stderr.write(`Not known here, left out: ${plainLine(ignored.join(', '))}.\n`);
};

const exportAll: Action = async (asked) => {
  const record = await placeOf(asked).read();
  const kept = Object.entries(record).filter(([name, value]) => value !== null && !isDerived(name));
  print(Object.fromEntries(kept));
};

const actions: Readonly<Record<string, Action>> = { get, set, import: importFile, export: exportAll };

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { user: { type: 'string' } },
    allowPositionals: true,
  });
  const [action, ...words] = positionals;
  await chooseAction('settings', actions, action)({ words, user: values.user });
  return exits.done;
}

export const settings: Command = { help, run };

// `parley settings get|set|import|export`.
import { readFileSync } from 'node:fs';
import { RefusalError } from '../../errors.ts';
import { mask } from '../../mcp/secrets.ts';
import { commandName } from '../../process/program.ts';
import { AddGitProviders, NewSecret } from '../../secrets/schema.ts';
import { createSecrets } from '../../secrets/service.ts';
import {
  FullSettings,
  isDerived,
  PatchSettings,
  PostSettings,
  type SettingsChange,
  secretFields,
} from '../../settings/schema.ts';
import type { Settings } from '../../settings/service.ts';
import { jsonLine, plainLine } from '../../text/plainText.ts';
import { ownerName } from '../../users/owner.ts';
import { type Imported, readImport } from '../../v0/import/settingsFile.ts';
import { compileCheck } from '../../validation/validation.ts';
import { withSettings } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import { connect, isServiceNamed } from '../connection/connection.ts';
import type {
  settingsExportCommand,
  settingsGetCommand,
  settingsImportCommand,
  settingsSetCommand,
} from '../declarations/services.ts';
import { exits } from '../exits.ts';
import { readHidden } from '../inputs.ts';
import { suggest } from '../syntax/suggestion.ts';

type SettingsRecord = Awaited<ReturnType<Settings['read']>>;

/** Uses HTTP if the user named a service and no user, otherwise the local database. */
function settingsBackend(user: string | undefined) {
  if (user === undefined && isServiceNamed()) {
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

export function print(value: unknown): void {
  process.stdout.write(jsonLine(value, 2));
}

export function check(schema: Parameters<typeof compileCheck>[0], value: unknown): void {
  const error = compileCheck(schema)(value);
  if (error !== undefined) throw error;
}

const writableSettings = Object.keys(FullSettings.properties).filter((name) => !isDerived(name));

function unknownSetting(name: string): RefusalError {
  const meant = suggest(name, writableSettings);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return new RefusalError(
    `There is no such setting.${hint} "${commandName} settings get" shows all of them.`,
  );
}

export const getSettings: Handler<typeof settingsGetCommand> = async ({ args: { name }, options }) => {
  const record = await settingsBackend(options.user).read();
  if (name !== undefined && !Object.hasOwn(record, name)) throw unknownSetting(name);
  print(name === undefined ? record : record[name as keyof typeof record]);
  return exits.done;
};

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Reads standard input. At a terminal an API key can be typed, and is not shown. */
async function readValue(name: string, words: string): Promise<string> {
  if (process.stdin.isTTY && !secretFields.some((secret) => secret === name))
    throw new RefusalError(
      `The value is missing. Write it after ${name}, or give it on standard input: ${commandName} ${words} ${name} < FILE`,
    );
  return readHidden(name);
}

/** The new value of a setting. `words` are those of the command. */
export async function readSent(name: string, value: string | undefined, words: string): Promise<unknown> {
  // MCP servers contain keys, too.
  const isSecret = [...secretFields, 'mcp_config'].includes(name);
  if (isSecret && value !== undefined && value !== 'null')
    throw new RefusalError(`Give ${name} on standard input: ${commandName} ${words} ${name} < FILE`);
  const input = value ?? (await readValue(name, words));
  const sent = isSecret && value === undefined && name !== 'mcp_config' ? input : parseValue(input);
  if (sent === '' || sent === mask) throw new RefusalError('The value is empty. null clears a setting.');
  return sent;
}

export const setSetting: Handler<typeof settingsSetCommand> = async ({ args: { name, value }, options }) => {
  const change = { [name]: await readSent(name, value, 'settings set') } as SettingsChange;
  if (isDerived(name)) throw new RefusalError(`${name} is read-only.`);
  if (!writableSettings.includes(name)) throw unknownSetting(name);
  check(PatchSettings, change);
  await settingsBackend(options.user).write(change);
  return exits.done;
};

function checkImport({ settings, providers, secrets }: Imported): void {
  check(PostSettings, settings);
  check(AddGitProviders, { provider_tokens: providers });
  for (const secret of secrets) check(NewSecret, secret);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new RefusalError(`The file cannot be read: ${(error as Error).message}.`);
  }
}

async function store(user: string, imported: Imported): Promise<void> {
  await withSettings(user, async (settings, writer) => {
    const secrets = createSecrets({ settings });
    await settings.update(writer, 'post', imported.settings);
    if (Object.keys(imported.providers).length > 0)
      await secrets.addGitProviders(writer, { provider_tokens: imported.providers });
    for (const secret of imported.secrets) await secrets.replace(writer, secret);
  });
}

export const importSettings: Handler<typeof settingsImportCommand> = async ({ args, options }) => {
  if (options.user === undefined && isServiceNamed())
    throw new RefusalError(
      `An import works only on the local database: unset PARLEY_URL or run "${commandName} contexts local", or name a local user with --user.`,
    );
  const imported = readImport(readFile(args.file));
  checkImport(imported);
  await store(options.user ?? ownerName, imported);
  const { settings, providers, secrets, ignored, masked } = imported;
  process.stderr.write(
    `Imported ${Object.keys(settings).length} settings, ${Object.keys(providers).length} provider tokens and ${secrets.length} secrets.\n`,
  );
  if (ignored.length > 0)
    process.stderr.write(
      `Parley does not have these, so they are ignored: ${plainLine(ignored.join(', '))}.\n`,
    );
  if (masked.length > 0)
    process.stderr.write(`The file has only a mask of these secrets: ${plainLine(masked.join(', '))}.\n`);
  return exits.done;
};

export const exportSettings: Handler<typeof settingsExportCommand> = async ({ options }) => {
  const record = await settingsBackend(options.user).read();
  const kept = Object.entries(record).filter(([name, value]) => value !== null && !isDerived(name));
  print(Object.fromEntries(kept));
  return exits.done;
};

// Reads settings.json and secrets.json of a V0 server, or a file that `settings export` printed.
import { invalid, RefusalError } from '../../errors.ts';
import { gitProviders } from '../../git/providers.ts';
import { mask } from '../../mcp/secrets.ts';
import type { AddGitProviders, NewSecret } from '../../secrets/schema.ts';
import { FullSettings, isDerived, type SettingsChange, secretFields } from '../../settings/schema.ts';
import { objectOf } from '../../text/foreignJson.ts';
import type { JsonObject } from '../../text/foreignText.ts';

export interface Imported {
  readonly settings: SettingsChange;
  readonly providers: AddGitProviders['provider_tokens'];
  readonly secrets: readonly NewSecret[];
  /** Names of fields that Parley does not have. */
  readonly ignored: readonly string[];
  /** Names of secrets that the file has only as a mask. */
  readonly masked: readonly string[];
}

const storeNames = ['secrets_store', 'provider_tokens', 'custom_secrets'];

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** An earlier form of a token or secret was the text alone. */
function secretOf(stored: unknown): string | undefined {
  if (typeof stored === 'string') return textIn(stored);
  const { token, secret, value } = objectOf(stored);
  return textIn(token) ?? textIn(secret) ?? textIn(value);
}

function hostOf(host: unknown): string | null {
  return textIn(host) ?? null;
}

function readProviders(tokens: JsonObject): AddGitProviders['provider_tokens'] {
  const known = gitProviders.flatMap((name) => {
    const token = secretOf(tokens[name]);
    return token === undefined || token === mask
      ? []
      : [[name, { token, host: hostOf(objectOf(tokens[name])['host']) }]];
  });
  return Object.fromEntries(known);
}

function readSecrets(secrets: JsonObject): NewSecret[] {
  return Object.entries(secrets).flatMap(([name, stored]) => {
    const value = secretOf(stored);
    if (value === undefined || value === mask) return [];
    return [{ name, value, description: textIn(objectOf(stored)['description']) ?? null }];
  });
}

function maskedIn(store: JsonObject, prefix: string): string[] {
  return Object.keys(store)
    .filter((name) => secretOf(store[name]) === mask)
    .map((name) => `${prefix}.${name}`);
}

function readSettings(file: JsonObject) {
  const settings: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(file)) {
    if (storeNames.includes(name) || value === null || value === mask || isDerived(name)) continue;
    if (Object.hasOwn(FullSettings.properties, name)) settings[name] = value;
    else ignored.push(name);
  }
  return { settings, ignored };
}

/** Splits the content of a file into settings, access tokens and secrets. A null means that nothing was set. */
export function translateSettings(file: JsonObject): Imported {
  const stores = { ...objectOf(file['secrets_store']), ...file };
  const tokens = objectOf(stores['provider_tokens']);
  const secrets = objectOf(stores['custom_secrets']);
  const { settings, ignored } = readSettings(file);
  const unknown = Object.keys(tokens).filter((name) => !(gitProviders as readonly string[]).includes(name));
  const maskedKeys = secretFields.filter((name) => file[name] === mask);
  return {
    settings: settings as SettingsChange,
    providers: readProviders(tokens),
    secrets: readSecrets(secrets),
    ignored: [...ignored, ...unknown.map((name) => `provider_tokens.${name}`)],
    masked: [...maskedKeys, ...maskedIn(tokens, 'provider_tokens'), ...maskedIn(secrets, 'custom_secrets')],
  };
}

/** The same for the text of a file. Throws if it is not a settings file. */
export function readImport(text: string): Imported {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new RefusalError('The file is not valid JSON.');
  }
  const file = objectOf(parsed);
  if (Object.keys(file).length === 0)
    throw invalid([{ path: 'The file', message: 'must contain a settings object' }]);
  return translateSettings(file);
}

// Reads settings.json and secrets.json of an earlier installation, or a file that `settings export` printed.
import { invalid, RefusalError } from '../errors.ts';
import { gitProviders } from '../git/providers.ts';
import type { AddGitProviders, NewSecret } from '../secrets/schema.ts';
import { FullSettings, isDerived, type SettingsChange } from '../settings/schema.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Imported {
  readonly settings: SettingsChange;
  readonly providers: AddGitProviders['provider_tokens'];
  readonly secrets: readonly NewSecret[];
  /** Names of fields that Parley does not have. */
  readonly ignored: readonly string[];
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function readProviders(tokens: Json): AddGitProviders['provider_tokens'] {
  const known = gitProviders.flatMap((name) => {
    const { token, host } = objectOf(tokens[name]);
    return textOf(token) === undefined ? [] : [[name, { token: textOf(token), host: textOf(host) ?? null }]];
  });
  return Object.fromEntries(known);
}

function readSecrets(secrets: Json): NewSecret[] {
  return Object.entries(secrets).flatMap(([name, stored]) => {
    const { secret, value, description } = objectOf(stored);
    const found = textOf(secret) ?? textOf(value);
    return found === undefined ? [] : [{ name, value: found, description: textOf(description) ?? null }];
  });
}

/** Splits a file into settings, provider tokens and secrets. A null means that nothing was set. */
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
  const stores = { ...objectOf(file['secrets_store']), ...file };
  const settings: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(file)) {
    if (['secrets_store', 'provider_tokens', 'custom_secrets'].includes(name) || value === null) continue;
    if (Object.hasOwn(FullSettings.properties, name) && !isDerived(name)) settings[name] = value;
    else if (isDerived(name)) continue;
    else ignored.push(name);
  }
  const tokens = Object.keys(objectOf(stores['provider_tokens']));
  const unknown = tokens.filter((name) => !(gitProviders as readonly string[]).includes(name));
  ignored.push(...unknown.map((name) => `provider_tokens.${name}`));
  return {
    settings: settings as SettingsChange,
    providers: readProviders(objectOf(stores['provider_tokens'])),
    secrets: readSecrets(objectOf(stores['custom_secrets'])),
    ignored,
  };
}

// Chooses which settings, access tokens and secrets of a V0 server are stored: those that are valid, and that the user
// has not set in Parley. So an import can be repeated, and never undoes a change.
import { mask } from '../../mcp/secrets.ts';
import { AddGitProviders, customSecretsMax, NewSecret } from '../../secrets/schema.ts';
import { PostSettings, type SettingsChange } from '../../settings/schema.ts';
import type { SettingsRows } from '../../settings/store.ts';
import { objectOf } from '../../text/foreignJson.ts';
import type { JsonObject } from '../../text/foreignText.ts';
import { compileCheck } from '../../validation/validation.ts';
import type { Skipped } from './report.ts';
import type { Imported } from './settingsFile.ts';

export interface Records {
  readonly settings: SettingsChange;
  readonly providers: AddGitProviders['provider_tokens'];
  readonly secrets: readonly NewSecret[];
}

export interface RecordsPlan extends Records {
  /** The paths are names within the file. */
  readonly skipped: readonly Skipped[];
  /** Names of what the user has set in Parley. */
  readonly kept: readonly string[];
}

const unknown = 'is not a setting of Parley';
const unknownAgent = 'is not an agent of this server';
const onlyMask = 'is masked in the file';
const tooManySecrets = `is not imported, because a user can have at most ${customSecretsMax} secrets`;

const checkSettings = compileCheck(PostSettings);
const checkProviders = compileCheck(AddGitProviders);
const checkSecret = compileCheck(NewSecret);

/** The first reason; messages of a validation never quote the value. */
function faultOf(check: ReturnType<typeof compileCheck>, value: unknown): string | undefined {
  return check(value)?.details?.[0]?.message;
}

/** Leaves out masks, and servers that are not valid. */
function validMcp(value: unknown, skip: (name: string, reason: string) => void): JsonObject {
  const lists = Object.entries(objectOf(value)).map(([list, servers]) => {
    const valid = (Array.isArray(servers) ? servers : []).flatMap((server: unknown, i) => {
      const { api_key: key, ...rest } = objectOf(server);
      const sent = key === mask ? rest : server;
      const fault = faultOf(checkSettings, { mcp_config: { [list]: [sent] } });
      const isMasked = key === mask || JSON.stringify(sent).includes(`"${mask}"`);
      if (fault !== undefined || isMasked) skip(`mcp_config.${list}[${i}]`, fault ?? onlyMask);
      // A server without its key is better than none; one without its environment would not start.
      return fault === undefined && (key === mask || !isMasked) ? [sent] : [];
    });
    return [list, valid] as const;
  });
  return Object.fromEntries(lists.filter(([, servers]) => servers.length > 0));
}

export function planRecords(
  imported: Imported,
  rows: SettingsRows,
  agentNames: readonly string[],
): RecordsPlan {
  const skipped: Skipped[] = [];
  const kept: string[] = [];
  const skip = (path: string, reason: string) => void skipped.push({ path, reason });
  const stored = new Set(Object.keys(JSON.parse(rows.document) as object));
  for (const { kind, name } of rows.secrets) stored.add(name === '' ? kind : `${kind}.${name}`);

  function isNew(name: string, key: string, fault: string | undefined): boolean {
    if (stored.has(key)) kept.push(name);
    else if (fault !== undefined) skip(name, fault);
    return !stored.has(key) && fault === undefined;
  }

  const settings = Object.entries(imported.settings).flatMap(([name, value]): [string, unknown][] => {
    if (value === '') return [];
    const isMcp = name === 'mcp_config' && !stored.has(name);
    const sent = isMcp ? validMcp(value, skip) : value;
    if (isMcp && Object.keys(objectOf(sent)).length === 0) return [];
    const isUnknownAgent = name === 'agent' && !agentNames.includes(String(sent));
    const fault = faultOf(checkSettings, { [name]: sent }) ?? (isUnknownAgent ? unknownAgent : undefined);
    return isNew(name, name, fault) ? [[name, sent]] : [];
  });
  const providers = Object.entries(imported.providers).filter(([name, token]) => {
    const fault = faultOf(checkProviders, { provider_tokens: { [name]: token } });
    return isNew(`provider_tokens.${name}`, `provider_token.${name}`, fault);
  });
  let free = customSecretsMax - rows.secrets.filter(({ kind }) => kind === 'custom').length;
  const secrets = imported.secrets.filter((secret) => {
    const fault = faultOf(checkSecret, secret) ?? (free > 0 ? undefined : tooManySecrets);
    const isAdded = isNew(`custom_secrets.${secret.name}`, `custom.${secret.name}`, fault);
    free -= isAdded ? 1 : 0;
    return isAdded;
  });
  for (const name of imported.ignored) skip(name, unknown);
  for (const name of imported.masked) skip(name, onlyMask);
  return {
    settings: Object.fromEntries(settings) as SettingsChange,
    providers: Object.fromEntries(providers),
    secrets,
    skipped,
    kept,
  };
}

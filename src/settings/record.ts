// Converts stored rows to the two public forms of the settings. Each form lists its fields, so that nothing else can
// leak.
import { normaliseMcp, showMcp } from '../mcp/schema.ts';
import { splitMcp } from '../mcp/secrets.ts';
import { FullSettings, type ReducedSettings, reducedFields } from './schema.ts';
import type { SettingsRows } from './store.ts';

type Document = Readonly<Record<string, unknown>>;

const memberNames = Object.keys(FullSettings.properties) as (keyof FullSettings)[];

function derived(rows: SettingsRows): Partial<FullSettings> {
  const kinds = new Set(rows.secrets.map(({ kind }) => kind));
  const of = (kind: string) => rows.secrets.filter((secret) => secret.kind === kind);
  const tokens = of('provider_token');
  return {
    llm_api_key: null,
    llm_api_key_set: kinds.has('llm_api_key'),
    search_api_key: null,
    search_api_key_set: kinds.has('search_api_key'),
    sandbox_api_key: null,
    provider_tokens_set: Object.fromEntries(tokens.map(({ name, host }) => [name, host])),
    secrets_store: {
      provider_tokens: Object.fromEntries(tokens.map(({ name, host }) => [name, { host }])),
      custom_secrets: Object.fromEntries(
        of('custom').map(({ name, description }) => [name, { description }]),
      ),
    },
  };
}

/** It is stored masked. Masking it again makes sure that nothing leaks. */
function maskDocument(document: Document): Document {
  const mcp = document['mcp_config'];
  return mcp == null ? document : { ...document, mcp_config: showMcp(splitMcp(normaliseMcp(mcp)).masked) };
}

function defaultOf(name: keyof FullSettings): unknown {
  return (FullSettings.properties[name] as { default?: unknown }).default ?? null;
}

/** All fields in order: derived, stored, or default. */
export function toFullSettings(rows: SettingsRows): FullSettings {
  const document = maskDocument(JSON.parse(rows.document) as Document);
  const known = derived(rows);
  return Object.fromEntries(
    memberNames.map((name) => [
      name,
      known[name] ?? (name in known ? null : document[name]) ?? defaultOf(name),
    ]),
  ) as FullSettings;
}

export function toReducedSettings(full: FullSettings): ReducedSettings {
  return Object.fromEntries(reducedFields.map((name) => [name, full[name]])) as ReducedSettings;
}

// Calls about settings, secrets, API keys, webhooks, options and the server.
import type { CallOptions } from './conversations.ts';
import { type Connection, requestJson } from './request.ts';
import type {
  AddGitProviders,
  AgentList,
  AppliedDefaults,
  ChangeDefaults,
  CheckedMcp,
  CreatedKey,
  CreatedWebhook,
  DefaultSettings,
  DeliveryFilter,
  DeliveryList,
  Diagnostics,
  GitProvider,
  GitUser,
  InstallationList,
  KeyList,
  KeyRecord,
  McpConfig,
  Me,
  NewKey,
  NewSecret,
  NewWebhook,
  ProviderKey,
  ProviderKeyList,
  SecretList,
  SecretUpdate,
  ServerInfo,
  Settings,
  SettingsChange,
  Spending,
  WebhookList,
} from './types.ts';

/** The service checks servers in parallel and waits up to ten seconds for each. */
const mcpCheckMs = 120_000;

export function settingsCalls(connection: Connection) {
  return {
    get: ({ signal }: CallOptions = {}): Promise<Settings> =>
      requestJson<Settings>(connection, '/api/settings', { signal }),
    /** Changes the given fields; null clears a field. Returns the whole record. */
    update: (change: SettingsChange, { signal }: CallOptions = {}): Promise<Settings> =>
      requestJson<Settings>(connection, '/api/settings', { method: 'PATCH', body: change, signal }),
    /** The fields that you have not set, and whose values are the operator's. */
    defaults: async ({ signal }: CallOptions = {}): Promise<AppliedDefaults['fields']> =>
      (await requestJson<AppliedDefaults>(connection, '/api/settings/defaults', { signal })).fields,
  };
}

/** The operator's default settings. The API key needs the scope admin. */
export function defaultCalls(connection: Connection) {
  return {
    get: ({ signal }: CallOptions = {}): Promise<DefaultSettings> =>
      requestJson<DefaultSettings>(connection, '/api/defaults', { signal }),
    /** Changes the given fields; null clears a field. */
    update: (change: ChangeDefaults, { signal }: CallOptions = {}): Promise<DefaultSettings> =>
      requestJson<DefaultSettings>(connection, '/api/defaults', { method: 'PATCH', body: change, signal }),
  };
}

export function secretCalls(connection: Connection) {
  const path = (name: string) => `/api/secrets/${encodeURIComponent(name)}`;
  return {
    /** Returns names and descriptions, never values. */
    list: ({ signal }: CallOptions = {}): Promise<SecretList> =>
      requestJson<SecretList>(connection, '/api/secrets', { signal }),
    create: async (secret: NewSecret, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, '/api/secrets', { method: 'POST', body: secret, signal });
    },
    /** Changes the name, description or value at once. Absent fields stay unchanged. */
    update: async (name: string, change: SecretUpdate, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, path(name), { method: 'PUT', body: change, signal });
    },
    delete: async (name: string, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, path(name), { method: 'DELETE', signal });
    },
  };
}

/** API keys of model providers. For the model in the settings, `llm_api_key` takes precedence. */
export function providerKeyCalls(connection: Connection) {
  const path = (provider: string) => `/api/provider-keys/${encodeURIComponent(provider)}`;
  return {
    /** Returns every provider and whether a key is stored, never values. */
    list: ({ signal }: CallOptions = {}): Promise<ProviderKeyList> =>
      requestJson<ProviderKeyList>(connection, '/api/provider-keys', { signal }),
    get: (provider: string, { signal }: CallOptions = {}): Promise<ProviderKey> =>
      requestJson<ProviderKey>(connection, path(provider), { signal }),
    /** Stores the key, and replaces the one that was stored. */
    set: (provider: string, key: string, { signal }: CallOptions = {}): Promise<ProviderKey> =>
      requestJson<ProviderKey>(connection, path(provider), { method: 'PUT', body: { api_key: key }, signal }),
    /** Throws `not_found` if no key is stored. */
    delete: (provider: string, { signal }: CallOptions = {}): Promise<ProviderKey> =>
      requestJson<ProviderKey>(connection, path(provider), { method: 'DELETE', signal }),
  };
}

/** The field `provider_tokens_set` of the settings shows which tokens are stored. */
export function gitProviderCalls(connection: Connection) {
  return {
    /** Stores the given tokens. An empty token keeps the stored one and changes only the host. */
    set: async (tokens: AddGitProviders['provider_tokens'], { signal }: CallOptions = {}): Promise<void> => {
      const body = { provider_tokens: tokens };
      await requestJson(connection, '/api/add-git-providers', { method: 'POST', body, signal });
    },
    /** Deletes the token of one provider. Throws `not_found` if none is stored. */
    delete: async (provider: GitProvider, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, `/api/git-providers/${provider}`, { method: 'DELETE', signal });
    },
    /** The user that the token belongs to. */
    user: (provider: GitProvider, { signal }: CallOptions = {}): Promise<GitUser> =>
      requestJson<GitUser>(connection, `/api/git-providers/${provider}/user`, { signal }),
    /** What the repositories belong to: installations of an app, organizations, groups or workspaces. */
    installations: async (provider: GitProvider, { signal }: CallOptions = {}): Promise<string[]> => {
      const path = `/api/git-providers/${provider}/installations`;
      return (await requestJson<InstallationList>(connection, path, { signal })).results;
    },
    /** Deletes the tokens of all providers. */
    clear: async ({ signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, '/api/unset-provider-tokens', { method: 'POST', signal });
    },
  };
}

export function mcpCalls(connection: Connection) {
  return {
    /** Connects to each server of the configuration. Default: the servers in your settings. */
    check: (config?: McpConfig, { signal }: CallOptions = {}): Promise<CheckedMcp> =>
      requestJson<CheckedMcp>(connection, '/api/mcp/check', {
        method: 'POST',
        body: config === undefined ? {} : { mcp_config: config },
        signal,
        timeoutMs: mcpCheckMs,
      }),
  };
}

/** The agents of the service, and which of them are installed. */
export function agentCalls(connection: Connection) {
  return {
    list: ({ signal }: CallOptions = {}): Promise<AgentList> =>
      requestJson<AgentList>(connection, '/api/agents', { signal }),
  };
}

/** Suggestions for forms. Settings accept other values, too. */
export function optionCalls(connection: Connection) {
  const names =
    (path: string) =>
    (options: CallOptions = {}): Promise<string[]> =>
      requestJson<string[]>(connection, path, { signal: options.signal });
  return {
    models: names('/api/options/models'),
    agents: names('/api/options/agents'),
    securityAnalyzers: names('/api/options/security-analyzers'),
  };
}

export function keyCalls(connection: Connection) {
  return {
    /** Returns the user, scopes and expiry of the API key that the client sends. */
    me: ({ signal }: CallOptions = {}): Promise<Me> => requestJson<Me>(connection, '/api/me', { signal }),
    /** What the user of the API key has spent on models, and the budget. */
    spending: ({ signal }: CallOptions = {}): Promise<Spending> =>
      requestJson<Spending>(connection, '/api/spending', { signal }),
    list: ({ signal }: CallOptions = {}): Promise<KeyList> =>
      requestJson<KeyList>(connection, '/api/keys', { signal }),
    /** Only this response contains the key. */
    create: (key: NewKey, { signal }: CallOptions = {}): Promise<CreatedKey> =>
      requestJson<CreatedKey>(connection, '/api/keys', { method: 'POST', body: key, signal }),
    revoke: (id: string, { signal }: CallOptions = {}): Promise<KeyRecord> =>
      requestJson<KeyRecord>(connection, `/api/keys/${encodeURIComponent(id)}`, { method: 'DELETE', signal }),
  };
}

export function webhookCalls(connection: Connection) {
  const path = (id: string, rest = '') => `/api/webhooks/${encodeURIComponent(id)}${rest}`;
  return {
    list: ({ signal }: CallOptions = {}): Promise<WebhookList> =>
      requestJson<WebhookList>(connection, '/api/webhooks', { signal }),
    /** Only this response contains the secret that signs the deliveries. */
    create: (webhook: NewWebhook, { signal }: CallOptions = {}): Promise<CreatedWebhook> =>
      requestJson<CreatedWebhook>(connection, '/api/webhooks', { method: 'POST', body: webhook, signal }),
    delete: async (id: string, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, path(id), { method: 'DELETE', signal });
    },
    /** Returns a page of the pending and failed deliveries. */
    deliveries: (
      id: string,
      filter: DeliveryFilter = {},
      { signal }: CallOptions = {},
    ): Promise<DeliveryList> =>
      requestJson<DeliveryList>(connection, path(id, '/deliveries'), { query: filter, signal }),
    /** Redelivers one failed delivery, or all of them. Returns how many. */
    redeliver: async (id: string, delivery?: string, { signal }: CallOptions = {}): Promise<number> => {
      const rest = delivery === undefined ? '' : `/deliveries/${encodeURIComponent(delivery)}`;
      const options = { method: 'POST', signal };
      const answer = await requestJson<{ redelivered: number }>(
        connection,
        path(id, `${rest}/redeliver`),
        options,
      );
      return answer.redelivered;
    },
  };
}

/** All but `diagnostics` work without an API key, too. */
export function serverCalls(connection: Connection) {
  return {
    info: ({ signal }: CallOptions = {}): Promise<ServerInfo> =>
      requestJson<ServerInfo>(connection, '/server_info', { signal }),
    /** Returns how this request reached the server. The key needs the scope `admin`. */
    diagnostics: ({ signal }: CallOptions = {}): Promise<Diagnostics> =>
      requestJson<Diagnostics>(connection, '/api/diagnostics', { signal }),
    /** Throws if the server cannot accept requests. */
    ready: async ({ signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, '/ready', { signal });
    },
  };
}

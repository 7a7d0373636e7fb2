// Calls about all that is no conversation: settings, secrets, keys, webhooks, what can be chosen, the service.
import type { CallOptions } from './conversations.ts';
import { type Connection, requestJson } from './request.ts';
import type {
  AddGitProviders,
  CheckedMcp,
  CreatedKey,
  CreatedWebhook,
  DeliveryFilter,
  DeliveryList,
  GitProvider,
  KeyList,
  KeyRecord,
  McpConfig,
  Me,
  NewKey,
  NewSecret,
  NewWebhook,
  SecretList,
  SecretUpdate,
  ServerInfo,
  Settings,
  SettingsChange,
  WebhookList,
} from './types.ts';

/** Servers are given up to ten seconds each, side by side. */
const mcpCheckMs = 120_000;

export function settingsCalls(connection: Connection) {
  return {
    get: ({ signal }: CallOptions = {}): Promise<Settings> =>
      requestJson<Settings>(connection, '/api/settings', { signal }),
    /** Changes the members that are named; null clears one. Returns the whole record. */
    update: (change: SettingsChange, { signal }: CallOptions = {}): Promise<Settings> =>
      requestJson<Settings>(connection, '/api/settings', { method: 'PATCH', body: change, signal }),
  };
}

export function secretCalls(connection: Connection) {
  const path = (name: string) => `/api/secrets/${encodeURIComponent(name)}`;
  return {
    /** Names and descriptions; values are never shown. */
    list: ({ signal }: CallOptions = {}): Promise<SecretList> =>
      requestJson<SecretList>(connection, '/api/secrets', { signal }),
    create: async (secret: NewSecret, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, '/api/secrets', { method: 'POST', body: secret, signal });
    },
    /** Renames, describes or replaces it, all at once; what is not named stays. */
    update: async (name: string, change: SecretUpdate, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, path(name), { method: 'PUT', body: change, signal });
    },
    delete: async (name: string, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, path(name), { method: 'DELETE', signal });
    },
  };
}

/** Which are stored is in the settings, as `provider_tokens_set`. */
export function gitProviderCalls(connection: Connection) {
  return {
    /** Stores the tokens that are named; an empty token keeps the stored one and changes the host. */
    set: async (tokens: AddGitProviders['provider_tokens'], { signal }: CallOptions = {}): Promise<void> => {
      const body = { provider_tokens: tokens };
      await requestJson(connection, '/api/add-git-providers', { method: 'POST', body, signal });
    },
    /** Forgets the token of one. Throws `not_found` where none is stored. */
    delete: async (provider: GitProvider, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, `/api/git-providers/${provider}`, { method: 'DELETE', signal });
    },
    /** Forgets the tokens of all of them. */
    clear: async ({ signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, '/api/unset-provider-tokens', { method: 'POST', signal });
    },
  };
}

export function mcpCalls(connection: Connection) {
  return {
    /** Connects to each server of the configuration, or of your settings where there is none. */
    check: (config?: McpConfig, { signal }: CallOptions = {}): Promise<CheckedMcp> =>
      requestJson<CheckedMcp>(connection, '/api/mcp/check', {
        method: 'POST',
        body: config === undefined ? {} : { mcp_config: config },
        signal,
        timeoutMs: mcpCheckMs,
      }),
  };
}

/** Names for forms; settings take other values, too. */
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
    list: ({ signal }: CallOptions = {}): Promise<KeyList> =>
      requestJson<KeyList>(connection, '/api/keys', { signal }),
    /** The answer holds the key, this once. */
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
    /** The answer holds the secret that signs the messages, this once. */
    create: (webhook: NewWebhook, { signal }: CallOptions = {}): Promise<CreatedWebhook> =>
      requestJson<CreatedWebhook>(connection, '/api/webhooks', { method: 'POST', body: webhook, signal }),
    delete: async (id: string, { signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, path(id), { method: 'DELETE', signal });
    },
    /** A page of the messages that wait or were given up. */
    deliveries: (
      id: string,
      filter: DeliveryFilter = {},
      { signal }: CallOptions = {},
    ): Promise<DeliveryList> =>
      requestJson<DeliveryList>(connection, path(id, '/deliveries'), { query: filter, signal }),
    /** Sends one failed message again, or all of them. Returns how many. */
    redeliver: async (id: string, delivery?: string, { signal }: CallOptions = {}): Promise<number> => {
      const rest = delivery === undefined ? '' : `/deliveries/${encodeURIComponent(delivery)}`;
      const ask = { method: 'POST', signal };
      const answer = await requestJson<{ redelivered: number }>(
        connection,
        path(id, `${rest}/redeliver`),
        ask,
      );
      return answer.redelivered;
    },
  };
}

/** Without a key, too. */
export function serverCalls(connection: Connection) {
  return {
    info: ({ signal }: CallOptions = {}): Promise<ServerInfo> =>
      requestJson<ServerInfo>(connection, '/server_info', { signal }),
    /** Throws where it cannot take requests. */
    ready: async ({ signal }: CallOptions = {}): Promise<void> => {
      await requestJson(connection, '/ready', { signal });
    },
  };
}

// What a run needs from its user: the settings and decrypted secrets. None of it is kept longer than the run.
import { readChoice } from '../conversations/choice/store.ts';
import type { NormalRequest } from '../conversations/create/request.ts';
import type { ClaimedConversation } from '../conversations/run/claimStore.ts';
import type { Database } from '../db/transaction.ts';
import { ownerOf } from '../encryption/store.ts';
import type { Vault } from '../encryption/vault.ts';
import type { RunModel } from '../gateway/runGateway.ts';
import { type GitProvider, gitProviders } from '../git/providers.ts';
import type { McpConfig } from '../mcp/schema.ts';
import { defaultSearchUrl, withSearch } from '../mcp/search.ts';
import { type McpSecrets, noMcp, restoreMasks } from '../mcp/secrets.ts';
import type { ProviderKeys } from '../providerKeys/service.ts';
import { providerTokenKind } from '../secrets/service.ts';
import type { FullSettings } from '../settings/schema.ts';
import type { Settings } from '../settings/service.ts';
import type { StartingPatch } from '../workspaces/prepare/applyPatch.ts';
import { findPatch } from '../workspaces/prepare/store.ts';

export interface RunInputs {
  /** With the model, the base URL and the approval mode of this conversation. */
  readonly settings: FullSettings;
  readonly instructions: string | undefined;
  readonly mcp: McpConfig;
  readonly provider: GitProvider | null;
  readonly userHosts: Readonly<Partial<Record<GitProvider, string | null>>>;
  gitToken(provider: GitProvider): Promise<string | undefined>;
  /** Secrets by name, for the environment of programs in the sandbox. */
  readonly customSecrets: Readonly<Record<string, string>>;
  /** The API key of the model, when the run begins. */
  readonly modelKey: string | undefined;
  /** Reads the current settings, with the approval mode of this conversation. */
  readSettings(): Promise<FullSettings>;
  /** The name of the agent that the conversation should have now; null is the built-in agent. */
  readAgent(): Promise<string | null>;
  /** Reads the current model of the conversation. */
  loadModel(): Promise<RunModel>;
  /** The folder of the user in which the agent works, instead of a workspace of its own. */
  readonly localFolder: string | undefined;
  /** Reads the changes that the workspace starts with; undefined if there are none. */
  loadPatch(): Promise<StartingPatch | undefined>;
  /** Values that must not appear in the log: those that enter the sandbox, and API keys that belong to them. */
  readonly hidden: readonly string[];
  /** Reads the secrets that the user has now. A new one is not in the sandbox, but the user may tell it to the agent. */
  readHidden(): Promise<readonly string[]>;
}

function mcpValues({ stdio_servers, sse_servers, shttp_servers }: McpConfig): string[] {
  const keys = [...sse_servers, ...shttp_servers].flatMap(({ api_key }) => api_key ?? []);
  return [...keys, ...stdio_servers.flatMap(({ env }) => Object.values(env ?? {}))];
}

/** The approval mode of a conversation takes precedence over the one in the settings. */
function withMode(settings: FullSettings, mode: number | null): FullSettings {
  return mode === null ? settings : { ...settings, confirmation_mode: mode === 1 };
}

interface InputsOptions {
  readonly database: Database;
  readonly settings: Settings;
  readonly providerKeys: ProviderKeys;
  readonly vault: Vault;
  /** The MCP server for web search, if the operator configured one. */
  readonly searchUrl: string | undefined;
}

/** How the repository of a conversation is reached. */
export type GitAccess = Pick<RunInputs, 'provider' | 'userHosts' | 'gitToken'>;

function gitAccessOf(
  settings: Settings,
  userId: number,
  named: string | null,
  { provider_tokens_set: hosts }: FullSettings,
): GitAccess {
  const tokens = Object.keys(hosts ?? {}) as GitProvider[];
  const only = tokens.length === 1 ? (tokens[0] ?? null) : null;
  return {
    // If the user has a token for only one provider, that one is used.
    provider: gitProviders.find((known) => known === named) ?? only,
    userHosts: hosts ?? {},
    gitToken: (provider) => settings.openSecret(userId, providerTokenKind, provider),
  };
}

export type LoadGitAccess = (userId: number, namedProvider: string | null) => Promise<GitAccess>;

export function createGitAccess(settings: Settings): LoadGitAccess {
  return async (userId, named) => gitAccessOf(settings, userId, named, await settings.read(userId));
}

export function createInputs(options: InputsOptions) {
  const { database, settings, providerKeys, vault, searchUrl = defaultSearchUrl } = options;

  async function mcpOf(conversation: ClaimedConversation, request: NormalRequest): Promise<McpConfig> {
    const { user_id: userId, id, sealed } = conversation;
    const masked = request.mcp_config;
    if (masked === undefined) return settings.openMcp(userId);
    if (sealed === null) return masked;
    const owner = ownerOf({ table: 'conversations', userId, name: [id] });
    const secrets = JSON.parse(await vault.decrypt(sealed, owner)) as McpSecrets;
    return restoreMasks(masked, { ...noMcp, masked, secrets }).config;
  }

  async function customSecretsOf(
    userId: number,
    { secrets_store: store }: FullSettings,
  ): Promise<Record<string, string>> {
    const names = Object.keys(store?.custom_secrets ?? {});
    const values: Record<string, string> = {};
    for (const name of names) {
      const value = await settings.openSecret(userId, 'custom', name);
      if (value !== undefined) values[name] = value;
    }
    return values;
  }

  async function readOwnModel({ key, llm_model: known }: ClaimedConversation): Promise<string | null> {
    const choice = await database.run(readChoice, key);
    return choice === undefined ? known : choice.llm_model;
  }

  async function patchOf({ key }: ClaimedConversation, { workspace_patch: sent }: NormalRequest) {
    if (sent === undefined) return undefined;
    const patch = Buffer.from((await database.run(findPatch, key)) ?? '', 'base64');
    return { baseCommit: sent.base_commit ?? null, patch };
  }

  async function readCurrentSettings(conversation: ClaimedConversation): Promise<FullSettings> {
    const choice = await database.run(readChoice, conversation.key);
    const { confirmation_mode: mode } = choice ?? conversation;
    return withMode(await settings.read(conversation.user_id), mode);
  }

  return async function load(conversation: ClaimedConversation): Promise<RunInputs> {
    const { user_id: userId, git_provider: named } = conversation;
    const request = JSON.parse(conversation.request) as NormalRequest;
    const { settings: stored, key: modelKey } = await providerKeys.modelOf(userId, conversation.llm_model);
    const full = withMode(stored, conversation.confirmation_mode);
    const searchKey =
      (await settings.openSecret(userId, 'search_api_key', '')) ??
      (await (await settings.readEffective(userId)).openOperatorSecret('search_api_key'));
    const mcp = withSearch(await mcpOf(conversation, request), searchUrl, searchKey);
    const customSecrets = await customSecretsOf(userId, full);
    return {
      settings: full,
      instructions: request.conversation_instructions,
      mcp,
      ...gitAccessOf(settings, userId, named, full),
      customSecrets,
      modelKey,
      readSettings: () => readCurrentSettings(conversation),
      readAgent: async () => {
        const choice = await database.run(readChoice, conversation.key);
        return choice?.agent ?? conversation.agent ?? full.agent;
      },
      loadModel: async () => providerKeys.modelOf(userId, await readOwnModel(conversation)),
      localFolder: request.local_folder,
      loadPatch: () => patchOf(conversation, request),
      hidden: [
        ...Object.values(customSecrets),
        ...mcpValues(mcp),
        ...(modelKey === undefined ? [] : [modelKey]),
        ...(await providerKeys.listValues(userId)),
      ],
      readHidden: async () => [
        ...Object.values(await customSecretsOf(userId, await settings.read(userId))),
        ...(await providerKeys.listValues(userId)),
      ],
    };
  };
}

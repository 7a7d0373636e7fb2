// The commands that work with a service over HTTP, or with the local database.
import type { Scope } from '../../keys/schema.ts';
import type { WebhookEvent, WebhookFormat } from '../../webhooks/schema.ts';
import { type CommandGroup, declare } from '../command.ts';
import { jsonOption } from './sharedOptions.ts';

const topics = ['connection'] as const;
const listTopics = ['connection', 'output'] as const;

export const loginCommand = declare({
  name: 'login',
  summary: 'Log in to a service and remember it',
  description:
    'Asks for an API key, checks it with the service, and stores both as a context that later commands use. At a terminal you type the key and it is not shown; otherwise it is read from standard input. It is kept in contexts.json in $XDG_CONFIG_HOME/parley (default: ~/.config/parley), readable only by you, and is sent only to this URL.',
  arguments: [{ name: 'url', help: 'The URL of the service.' }],
  options: {
    name: {
      type: 'string',
      value: 'CONTEXT',
      help: 'The name of the context.',
      shownDefault: 'the host of the URL',
    },
  },
  examples: ['login https://parley.example.com', 'login --name work https://parley.example.com < key.txt'],
  topics: ['connection'],
});

export const logoutCommand = declare({
  name: 'logout',
  summary: 'Forget a service and its API key',
  description:
    'Removes a context with its API key from this machine. The key itself stays valid: "keys revoke" revokes it.',
  arguments: [
    {
      name: 'context',
      help: 'The context to remove. Default: the current one.',
      optional: true,
      completes: 'contexts',
    },
  ],
  options: {},
  examples: ['logout', 'logout work'],
  topics: ['connection'],
});

export const contextsCommand = declare({
  name: 'contexts',
  summary: 'List the services you logged in to, or switch to one',
  description:
    'Lists the contexts, or makes one of them the current context. The context "local" always exists: it is the service on this machine.',
  arguments: [{ name: 'context', help: 'The context to switch to.', optional: true, completes: 'contexts' }],
  options: jsonOption,
  examples: ['contexts', 'contexts work'],
  topics: ['connection'],
});

export const acpCommand = declare({
  name: 'acp',
  summary: 'Be an agent for an editor (Agent Client Protocol)',
  description:
    'Speaks the Agent Client Protocol on its standard streams, so that editors and other ACP clients can use Parley as their agent. A session is a conversation: it goes on when the editor is closed, and is also in the web UI and in "list".\n\nWithout PARLEY_URL and a context, it uses the service on this machine and starts one if none runs. That service keeps its data in PARLEY_DATA_DIR; by default in the data folder beside this program if there is one, otherwise in ~/.local/share/parley.',
  arguments: [],
  options: {},
  examples: ['acp'],
  topics: ['connection'],
});

const userOption = {
  user: {
    type: 'string',
    value: 'NAME',
    help: 'A user in the local database.',
    shownDefault: 'owner, or the user of your API key',
  },
} as const;

const nameArgument = { name: 'name', help: 'The name of a setting, such as llm_model.' } as const;

export const settingsGetCommand = declare({
  name: 'settings get',
  summary: 'Print the settings, or one of them, as JSON',
  description: 'Prints the settings as JSON, or one of them.',
  arguments: [{ ...nameArgument, optional: true }],
  options: userOption,
  examples: ['settings get', 'settings get llm_model'],
  topics,
});

export const settingsSetCommand = declare({
  name: 'settings set',
  summary: 'Change a setting',
  description:
    'Changes a setting. API keys (llm_api_key, search_api_key, sandbox_api_key) and mcp_config are read only from standard input, so that they never appear in a process list or in the history of a shell. At a terminal you are asked for an API key and it is not shown.',
  arguments: [
    nameArgument,
    {
      name: 'value',
      help: 'JSON, or plain text. null clears the setting. Without a value, it is read from standard input.',
      optional: true,
    },
  ],
  options: userOption,
  examples: ['settings set llm_model anthropic/claude-sonnet-4-5', 'settings set llm_api_key < key.txt'],
  topics,
});

export const settingsImportCommand = declare({
  name: 'settings import',
  summary: 'Import settings from a file',
  description:
    'Imports settings.json or secrets.json of an OpenHands installation, or a file that "settings export" printed. It works only on the local database.',
  arguments: [{ name: 'file', help: 'The file to import.', completes: 'files' }],
  options: userOption,
  examples: ['settings import settings.json'],
  topics,
});

export const settingsExportCommand = declare({
  name: 'settings export',
  summary: 'Print the settings in a form that can be imported',
  description: 'Prints the settings as JSON for "settings import". Secrets are not included.',
  arguments: [],
  options: userOption,
  examples: ['settings export > settings.json'],
  topics,
});

export const settingsGroup: CommandGroup = {
  name: 'settings',
  summary: 'Read and write settings',
  description: 'Reads and writes the settings of a user. A running service applies a change within a second.',
  commands: [settingsGetCommand, settingsSetCommand, settingsImportCommand, settingsExportCommand],
};

const providerArgument = {
  name: 'provider',
  help: 'The provider: the prefix of its models, such as openai.',
} as const;

export const providerKeysListCommand = declare({
  name: 'provider-keys list',
  summary: 'List model providers and whether they have an API key',
  description: 'Lists the model providers and whether an API key of each is stored. Keys are never shown.',
  arguments: [],
  options: { ...userOption, ...jsonOption },
  examples: ['provider-keys list'],
  topics: listTopics,
});

export const providerKeysSetCommand = declare({
  name: 'provider-keys set',
  summary: 'Store the API key of a model provider',
  description:
    'Stores an API key, and replaces the one that was stored. The key is read only from standard input, so that it never appears in a process list or in the history of a shell. At a terminal you are asked for it and it is not shown.',
  arguments: [providerArgument],
  options: userOption,
  examples: ['provider-keys set openai < key.txt'],
  topics,
});

export const providerKeysRemoveCommand = declare({
  name: 'provider-keys remove',
  summary: 'Delete the API key of a model provider',
  description: 'Deletes an API key. A turn that is in progress keeps it.',
  arguments: [providerArgument],
  options: userOption,
  examples: ['provider-keys remove openai'],
  topics,
});

export const providerKeysGroup: CommandGroup = {
  name: 'provider-keys',
  summary: 'Store API keys of several model providers',
  description:
    'Stores API keys of model providers. A model uses the key of its provider; for the model in the settings, llm_api_key takes precedence.',
  commands: [providerKeysListCommand, providerKeysSetCommand, providerKeysRemoveCommand],
};

/** `satisfies` keeps the list right without loading the schemas; a test keeps it complete. */
const scopeChoices = [
  'all',
  'settings:read',
  'settings:write',
  'conversations:read',
  'conversations:write',
  'webhooks:manage',
  'keys:manage',
  'admin',
] as const satisfies readonly (Scope | 'all')[];

export const keysCreateCommand = declare({
  name: 'keys create',
  summary: 'Create an API key or a bearer token',
  description:
    'Creates a key and prints it. It is not shown again. A user who does not exist yet is created. Over HTTP your API key needs the scope keys:manage, and admin for another user.',
  arguments: [],
  options: {
    user: {
      type: 'string',
      value: 'NAME',
      help: 'The user of the key.',
      shownDefault: 'owner, or the user of your API key',
    },
    kind: {
      type: 'string',
      choices: ['session', 'bearer'],
      default: 'session',
      help: 'session: an API key, sent as X-Session-API-Key. bearer: a token that can only read a part of the settings.',
    },
    bearer: {
      type: 'boolean',
      help: 'Also accept the API key as Authorization: Bearer, on every route, for clients that send it that way.',
    },
    name: { type: 'string', value: 'TEXT', default: 'command line', help: 'What the key is for.' },
    scope: {
      type: 'string',
      multiple: true,
      value: 'SCOPE',
      choices: scopeChoices,
      help: `What the key is allowed to do: ${scopeChoices.join(', ')}.`,
      shownDefault: 'all scopes except keys:manage and admin',
    },
    expires: {
      type: 'string',
      value: 'TIME',
      help: 'When the key expires: a number and m, h or d, such as 12h or 30d.',
      shownDefault: 'never',
    },
  },
  examples: ['keys create --user ada --name laptop --expires 90d', 'keys create --scope settings:read'],
  topics,
});

export const keysListCommand = declare({
  name: 'keys list',
  summary: 'List keys',
  description:
    'Lists the newest 2,000 keys of all users, or over HTTP those of your user. Their secret part is never shown.',
  arguments: [],
  options: jsonOption,
  examples: ['keys list'],
  topics: listTopics,
});

export const keysRevokeCommand = declare({
  name: 'keys revoke',
  summary: 'Revoke a key',
  description: 'Revokes a key. This cannot be undone, and a running service refuses the key within a second.',
  arguments: [{ name: 'id', help: 'The id of the key, as "keys list" shows it.' }],
  options: {},
  examples: ['keys revoke 868aa1c134552067'],
  topics,
});

export const keysGroup: CommandGroup = {
  name: 'keys',
  summary: 'Create, list and revoke API keys',
  description: 'Creates, lists and revokes API keys and bearer tokens.',
  commands: [keysCreateCommand, keysListCommand, keysRevokeCommand],
};

const webhookOptions = {
  user: { type: 'string', value: 'NAME', help: 'Only webhooks of this user in the local database.' },
  ...jsonOption,
} as const;

export const webhooksListCommand = declare({
  name: 'webhooks list',
  summary: 'List webhooks',
  description:
    'Lists webhooks with the number of pending and failed deliveries. Only the host of a URL is shown, because the rest may contain a secret.',
  arguments: [],
  options: webhookOptions,
  examples: ['webhooks list'],
  topics: listTopics,
});

const webhookFormats = [
  'parley',
  'slack',
  'mattermost',
  'discord',
  'teams',
  'ntfy',
] as const satisfies readonly WebhookFormat[];

const webhookEvents = [
  'conversation.waiting',
  'conversation.status',
  'conversation.event',
] as const satisfies readonly WebhookEvent[];

export const webhooksCreateCommand = declare({
  name: 'webhooks create',
  summary: 'Create a webhook',
  description:
    'Creates a webhook. Its URL is read only from standard input, because it often contains a secret; at a terminal you are asked for it and it is not shown. Prints the signing secret, which is not shown again, or the id if a chat service receives the messages.',
  arguments: [],
  options: {
    user: {
      type: 'string',
      value: 'NAME',
      help: 'The user of the webhook, in the local database.',
      shownDefault: 'owner, or the user of your API key',
    },
    format: {
      type: 'string',
      choices: webhookFormats,
      default: 'parley',
      help: 'parley: signed JSON for programs. The others: messages for people in a chat service.',
    },
    event: {
      type: 'string',
      choices: webhookEvents,
      multiple: true,
      help: 'What to send; repeat it for several types.',
      shownDefault: 'conversation.waiting',
    },
    description: { type: 'string', value: 'TEXT', help: 'A description of your choice.' },
  },
  examples: ['webhooks create --format slack < url.txt'],
  topics,
});

export const webhooksDeleteCommand = declare({
  name: 'webhooks delete',
  summary: 'Delete a webhook',
  description: 'Deletes a webhook. Pending deliveries are discarded.',
  arguments: [{ name: 'id', help: 'The id of a webhook (wh_…).' }],
  options: {},
  examples: ['webhooks delete wh_01a1dd04'],
  topics,
});

export const webhooksFailedCommand = declare({
  name: 'webhooks failed',
  summary: 'List failed deliveries',
  description:
    'Lists failed deliveries and why they failed, up to 1,000 per webhook. They are kept for 30 days.',
  arguments: [],
  options: webhookOptions,
  examples: ['webhooks failed --user ada'],
  topics: listTopics,
});

export const webhooksRedeliverCommand = declare({
  name: 'webhooks redeliver',
  summary: 'Redeliver failed deliveries',
  description:
    'Redelivers one failed delivery, or all of a webhook: within a second if the service runs, otherwise when it starts. Receivers recognise a repeated delivery by its webhook-id.',
  arguments: [{ name: 'id', help: 'The id of a webhook (wh_…) or of a delivery (msg_…).' }],
  options: {},
  examples: ['webhooks redeliver wh_01a1dd04'],
  topics,
});

export const webhooksGroup: CommandGroup = {
  name: 'webhooks',
  summary: 'Create, show and delete webhooks, and redeliver failed deliveries',
  description:
    'Creates, shows and deletes webhooks, and redelivers failed deliveries. Over HTTP your API key needs the scope webhooks:manage.',
  commands: [
    webhooksCreateCommand,
    webhooksListCommand,
    webhooksDeleteCommand,
    webhooksFailedCommand,
    webhooksRedeliverCommand,
  ],
};

export const doctorCommand = declare({
  name: 'doctor',
  summary: 'Check the installation and say how to fix what is wrong',
  description:
    'Checks the data folder, disk, database, clock, sandbox, agents, service, API key and model, and says how to fix what is wrong. It changes nothing and sends nothing to the model. Run it where the service runs, with the same environment. If the service is on another machine, only that service is checked.',
  arguments: [],
  options: jsonOption,
  examples: ['doctor', 'doctor --json | jq "select(.state == \\"wrong\\")"'],
  topics: ['connection', 'output'],
});

// The commands about users, over HTTP or with the local database.
import { type CommandGroup, declare } from '../command.ts';
import { jsonOption } from './sharedOptions.ts';

const topics = ['connection', 'output'] as const;
const nameArgument = { name: 'name', help: 'The name of the user.' } as const;

export const usersListCommand = declare({
  name: 'users list',
  summary: 'List users',
  description: 'Lists the users, whether each may log in, and how many valid keys each has.',
  arguments: [],
  options: jsonOption,
  examples: ['users list'],
  topics,
});

export const usersCreateCommand = declare({
  name: 'users create',
  summary: 'Create a user',
  description:
    'Creates a user, who cannot log in without an API key: create one with "keys create --user NAME", which also creates the user if necessary.',
  arguments: [nameArgument],
  options: jsonOption,
  examples: ['users create ada'],
  topics,
});

export const usersRenameCommand = declare({
  name: 'users rename',
  summary: 'Rename a user',
  description:
    'Renames a user. API keys, settings and conversations stay as they are. The owner cannot be renamed.',
  arguments: [nameArgument, { name: 'new-name', help: 'The new name.' }],
  options: jsonOption,
  examples: ['users rename ada ada.lovelace'],
  topics,
});

export const usersDisableCommand = declare({
  name: 'users disable',
  summary: 'Keep a user out',
  description:
    'Keeps a user out within a second: API keys are refused, streams end, and conversations are stopped. Nothing is deleted, and "users enable" undoes it. The last user with the scope admin cannot be disabled.',
  arguments: [nameArgument],
  options: jsonOption,
  examples: ['users disable ada'],
  topics,
});

export const usersEnableCommand = declare({
  name: 'users enable',
  summary: 'Let a disabled user in again',
  description: 'Lets a disabled user in again. API keys that were not revoked are valid again.',
  arguments: [nameArgument],
  options: jsonOption,
  examples: ['users enable ada'],
  topics,
});

export const usersRemoveCommand = declare({
  name: 'users remove',
  summary: 'Remove a user with everything that belongs to them',
  description:
    'Keeps a user out like "users disable". The user can be restored for PARLEY_REMOVED_USER_DAYS days (default: 30). Then settings, secrets, API keys, conversations, files, snapshots and webhooks are deleted for good. It asks for confirmation at a terminal; elsewhere it needs --yes. The owner and the last user with the scope admin cannot be removed.',
  arguments: [nameArgument],
  options: {
    yes: { type: 'boolean', short: 'y', help: 'Do not ask for confirmation.' },
    ...jsonOption,
  },
  examples: ['users remove ada', 'users remove ada --yes'],
  topics,
});

export const usersRestoreCommand = declare({
  name: 'users restore',
  summary: 'Restore a removed user',
  description:
    'Restores a removed user, until everything is deleted. API keys that were not revoked are valid again. Conversations stay stopped.',
  arguments: [nameArgument],
  options: jsonOption,
  examples: ['users restore ada'],
  topics,
});

const budgetOption = (period: string) =>
  ({
    type: 'string',
    value: 'DOLLARS',
    help: `US dollars per ${period} in UTC, none for no limit, or default for the budget of all users.`,
  }) as const;

export const usersBudgetCommand = declare({
  name: 'users budget',
  summary: 'Show or set what a user may spend on models',
  description:
    'Shows what a user has spent on models today and this month, in UTC, and the budgets. With --day or --month it sets a budget of the user, which applies from the next turn of each conversation on. PARLEY_USER_BUDGET_DAY and PARLEY_USER_BUDGET_MONTH are the budgets of all users.',
  arguments: [nameArgument],
  options: { day: budgetOption('day'), month: budgetOption('month'), ...jsonOption },
  examples: ['users budget ada', 'users budget ada --day 5 --month none'],
  topics,
});

export const usersAccountsCommand = declare({
  name: 'users accounts',
  summary: 'List the accounts with which a user signs in',
  description: 'Lists the accounts at the sign-in provider that sign in as the user.',
  arguments: [nameArgument],
  options: jsonOption,
  examples: ['users accounts ada'],
  topics,
});

export const usersLinkCommand = declare({
  name: 'users link',
  summary: 'Let an account at the sign-in provider sign in as a user',
  description:
    'Links an account at the OpenID Connect provider to a user, so that its holder can sign in to the web UI as that user. People whose account is not linked yet see its subject when they try to sign in.',
  arguments: [nameArgument, { name: 'subject', help: 'The subject of the account: its claim "sub".' }],
  options: {
    issuer: {
      type: 'string',
      value: 'URL',
      help: 'The issuer of the account (default: PARLEY_OIDC_ISSUER of the service).',
    },
    ...jsonOption,
  },
  examples: ['users link ada 248289761001'],
  topics,
});

export const usersUnlinkCommand = declare({
  name: 'users unlink',
  summary: 'Unlink an account from a user',
  description:
    'Keeps an account from signing in as the user, and ends its sessions. API keys stay valid, also those that were created in such a session.',
  arguments: [nameArgument, { name: 'id', help: 'The id of the account, as "users accounts" shows it.' }],
  options: jsonOption,
  examples: ['users unlink ada 8d1f0c2b9a7e6354'],
  topics,
});

export const usersSignOutCommand = declare({
  name: 'users sign-out',
  summary: 'End all sessions of a user',
  description:
    'Ends all sessions of the user in the web UI that began with the sign-in provider. The user can sign in again, and API keys stay valid, also those that were created in a session. To end everything, disable the user.',
  arguments: [nameArgument],
  options: jsonOption,
  examples: ['users sign-out ada'],
  topics,
});

export const usersGroup: CommandGroup = {
  name: 'users',
  summary: 'Create, rename, disable and remove users',
  description:
    'Creates, lists, renames, disables and removes users. Over HTTP your API key needs the scope admin.',
  commands: [
    usersListCommand,
    usersCreateCommand,
    usersRenameCommand,
    usersBudgetCommand,
    usersDisableCommand,
    usersEnableCommand,
    usersRemoveCommand,
    usersRestoreCommand,
    usersAccountsCommand,
    usersLinkCommand,
    usersUnlinkCommand,
    usersSignOutCommand,
  ],
};

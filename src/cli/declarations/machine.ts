// The commands that work only on this machine.
import { serviceOptions } from '../../config.ts';
import { type CommandGroup, declare, type Option } from '../command.ts';
import { jsonOption } from './sharedOptions.ts';

/** The options of the service, which config.ts declares. */
const serveOptions: Readonly<Record<string, Option>> = Object.fromEntries(
  serviceOptions().map(({ env, flag, value, group, help, shownDefault, choices }) => [
    flag ?? env,
    {
      type: 'string',
      help,
      shownDefault,
      env,
      group,
      envOnly: flag === undefined,
      ...(value === undefined ? {} : { value }),
      ...(choices === undefined ? {} : { choices }),
    } satisfies Option,
  ]),
);

export const serveCommand = declare({
  name: 'serve',
  summary: 'Run the service',
  description:
    'Runs the service. It needs no options: it keeps its data in ./data, creates an API key for you, and prints how to use it.\n\nEvery option can also be set in the environment, by the variable in brackets. Names in capitals are environment variables without a flag: they hold secrets, and every user of a machine can see the flags of a process.',
  arguments: [],
  options: serveOptions,
  examples: ['serve', 'serve --port 8080 --data-dir /var/lib/parley'],
});

export const agentsListCommand = declare({
  name: 'agents list',
  summary: 'List agents and where they are installed',
  description:
    'Lists the agents that Parley knows, where each is installed on this machine and in which version. Agents are found in the data folder, into which "agents install" installs them, and then in the PATH. agents.json in the data folder, or the file in PARLEY_AGENTS_FILE, adds agents or replaces known ones: see docs/agents.md.',
  arguments: [],
  options: jsonOption,
  examples: ['agents list'],
  topics: ['output'],
});

export const agentsInstallCommand = declare({
  name: 'agents install',
  summary: 'Install an agent into the data folder',
  description:
    'Installs an agent from npm into the data folder, in the version that was tested with Parley. It needs npm and no root. The service finds the agent at once, without a restart.\n\nThe new version is used only when it is complete; the previous one stays until the next installation, because conversations may still be running with it. Install scripts of packages do not run, except for agents that do not work without.',
  arguments: [{ name: 'agent', help: 'The id of the agent, as "agents list" shows it.' }],
  options: {
    version: {
      type: 'string',
      value: 'VERSION',
      help: 'Another version of the agent. What is known about it, such as what it asks for, may be wrong for that one: test it.',
      shownDefault: 'the tested version',
    },
  },
  examples: ['agents install opencode', 'agents install codex --version 0.16.0'],
});

export const agentsAddCommand = declare({
  name: 'agents add',
  summary: 'Add agents from manifests of the ACP registry',
  description:
    'Reads a manifest, or a list of manifests, in the format of the ACP registry, and adds a profile for each to agents.json in the data folder. Nothing is downloaded or run: "agents install" does that. Agents that are distributed over npm (npx) can be added; others are refused with the reason.\n\nA manifest does not say which model API an agent speaks and how it gets its API key. The profile assumes the usual environment variables of the API in --protocol: test the agent, and change its profile if it needs others.',
  arguments: [{ name: 'file', help: 'A JSON file.', completes: 'files' }],
  options: {
    only: {
      type: 'string',
      value: 'ID',
      multiple: true,
      help: 'Add only the agent with this id. Can be repeated.',
    },
    protocol: {
      type: 'string',
      choices: ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
      default: 'openai-chat',
      help: 'The model API that the agents speak.',
    },
    replace: { type: 'boolean', help: 'Replace profiles in agents.json that have the same id.' },
  },
  examples: ['agents add agent.json', 'agents add registry.json --only some-agent --protocol anthropic'],
  topics: ['exit-codes'],
});

export const agentsRemoveCommand = declare({
  name: 'agents remove',
  summary: 'Remove an agent from the data folder',
  description:
    'Removes what "agents install" has installed. Conversations that are running with it will fail. Agents in the PATH stay, and so do profiles in agents.json, unless --profile is given.',
  arguments: [{ name: 'agent', help: 'The id of the agent, as "agents list" shows it.' }],
  options: {
    profile: {
      type: 'boolean',
      help: 'Also remove its profile from agents.json, which "agents add" has added.',
    },
  },
  examples: ['agents remove opencode', 'agents remove some-agent --profile'],
});

export const agentsTestCommand = declare({
  name: 'agents test',
  summary: 'Test an agent with a scripted model',
  description:
    'Runs an agent with a scripted model, without an API key and without network: it has to write a file, run a command and answer, in a temporary folder.\n\nThe exit code is 0 if everything works, 1 if something fails or the agent does not ask for approval, and 7 if it could not be determined whether it asks.',
  arguments: [{ name: 'agent', help: 'The id of the agent, as "agents list" shows it.' }],
  options: {
    confirm: {
      type: 'boolean',
      help: 'Also check that the agent asks for approval before it runs commands, writes and edits files, and that it respects the answer, in a git repository whose settings and hooks tell it not to.',
    },
    model: {
      type: 'string',
      value: 'NAME',
      default: 'scripted-model',
      help: 'The model name that the agent gets. Some agents treat some models differently.',
    },
    sandbox: {
      type: 'string',
      choices: ['auto', 'bubblewrap', 'process'],
      default: 'auto',
      help: 'auto: bubblewrap if it works, otherwise no sandbox.',
    },
  },
  examples: ['agents test opencode', 'agents test codex --confirm'],
  topics: ['exit-codes'],
});

export const agentsGroup: CommandGroup = {
  name: 'agents',
  summary: 'List, install and test agents',
  description: 'Lists the agents on this machine, installs and tests them.',
  commands: [
    agentsListCommand,
    agentsInstallCommand,
    agentsAddCommand,
    agentsRemoveCommand,
    agentsTestCommand,
  ],
};

export const importV0Command = declare({
  name: 'import v0',
  summary: 'Import the data of a V0 server (OpenHands 0.53)',
  description:
    'Imports settings, secrets and conversations with their events from the file store of a V0 server, usually ~/.openhands. It works on the local database, also while the service runs, and never changes the folder.\n\nYou can interrupt it and run it again at any time: conversations that were imported are skipped, and settings that are set in Parley are kept. The exit code is 1 if a conversation could not be imported.',
  arguments: [{ name: 'folder', help: 'The file store of the old server.', completes: 'files' }],
  options: {
    user: {
      type: 'string',
      value: 'NAME',
      help: 'The user who gets everything; created if it does not exist.',
      shownDefault: 'owner, and for each folder users/ID a user named ID',
    },
    'dry-run': { type: 'boolean', help: 'Read everything and print the report, but store nothing.' },
    ...jsonOption,
  },
  examples: ['import v0 ~/.openhands --dry-run', 'import v0 ./users/42 --user ada'],
  topics: ['connection', 'output'],
});

export const importGroup: CommandGroup = {
  name: 'import',
  summary: 'Import the data of another server',
  description: 'Imports the data of another server into the local database.',
  commands: [importV0Command],
};

export const auditCommand = declare({
  name: 'audit',
  summary: 'Show who changed what',
  description:
    'Shows who changed what, newest last: settings and secrets by name, keys that were created, used (once a day) and revoked, and webhooks. It never shows values. If the KEY column is "command-line" or "service", no key was needed.',
  arguments: [],
  options: {
    user: { type: 'string', value: 'NAME', help: 'Only changes of this user.' },
    last: {
      type: 'integer',
      value: 'N',
      min: 1,
      max: 100_000,
      default: 100,
      help: 'The number of entries to show.',
    },
    ...jsonOption,
  },
  examples: ['audit --last 20', 'audit --user ada --json'],
  topics: ['connection', 'output'],
});

export const migrateCommand = declare({
  name: 'migrate',
  summary: 'Update the schema of the database',
  description:
    'Updates the database to the schema of this version, and creates it if it is empty. The service does the same when it starts; use this command to do it before, such as once for all processes of a cluster. It does nothing if the schema is up to date, and refuses if a newer version has changed it in a way that this one does not understand.',
  arguments: [],
  options: {},
  examples: ['migrate'],
  topics: ['connection'],
});

export const secretsRotateCommand = declare({
  name: 'secrets rotate',
  summary: 'Change the encryption key',
  description:
    'Encrypts all stored secrets with a new key, while the service runs. You can interrupt it and run it again at any time.\n\nIf the key is in secret.key in the data folder, this is all you need to do. If it is in PARLEY_SECRET_KEY: create a new key (openssl rand -hex 32), set PARLEY_SECRET_KEY=NEW,OLD for every process and restart them, run this command with the same value, then set PARLEY_SECRET_KEY=NEW.',
  arguments: [],
  options: {},
  examples: ['secrets rotate'],
  topics: ['connection'],
});

export const secretsGroup: CommandGroup = {
  name: 'secrets',
  summary: 'Change the encryption key',
  description: 'Changes the key that encrypts stored secrets.',
  commands: [secretsRotateCommand],
};

export const snapshotsDiscardCommand = declare({
  name: 'snapshots discard',
  summary: 'Give up the stored files of a conversation',
  description:
    'Removes the snapshot of a stopped conversation from the snapshot store. Use it if the conversation cannot start because its snapshot is damaged, and there is no backup of the store: the next start then creates a new workspace, and changes that were not pushed are lost. Files on the machine that ran the conversation last are not touched, and are used if it starts there.',
  arguments: [{ name: 'conversation', help: 'The whole id of the conversation.' }],
  options: {
    user: { type: 'string', value: 'NAME', default: 'owner', help: 'The user of the conversation.' },
  },
  examples: ['snapshots discard 3f0c9a7e1b', 'snapshots discard 3f0c9a7e1b --user ada'],
  topics: ['connection'],
});

export const snapshotsAcceptStoreCommand = declare({
  name: 'snapshots accept-store',
  summary: 'Use a snapshot store that has lost the snapshots',
  description:
    'Lets the service use the store in PARLEY_SNAPSHOTS although the snapshots of this service are not there. Use it if they are lost for good, and not if their file system is only not mounted. Nothing is removed. Conversations whose files are still on a machine fill the store again; others cannot start before their snapshot is discarded. A store of another service is refused.',
  arguments: [],
  options: {},
  examples: ['snapshots accept-store'],
  topics: ['connection'],
});

export const snapshotsGroup: CommandGroup = {
  name: 'snapshots',
  summary: 'Give up stored files of conversations',
  description: 'Gives up snapshots of the files of conversations.',
  commands: [snapshotsDiscardCommand, snapshotsAcceptStoreCommand],
};

const passphraseOption = {
  'passphrase-file': {
    type: 'string',
    value: 'FILE',
    help: 'A file whose first line is the passphrase of the backup.',
    shownDefault: 'PARLEY_BACKUP_PASSPHRASE_FILE or PARLEY_BACKUP_PASSPHRASE',
    completes: 'files',
  },
} as const satisfies Readonly<Record<string, Option>>;

export const backupCommand = declare({
  name: 'backup',
  summary: 'Back up the database and the files of conversations',
  description:
    'Writes one file with everything in the database and the workspaces of this machine, as of one moment, while the service goes on. The file can be restored on SQLite and on PostgreSQL. It appears under its name when it is complete, and only you can read it.\n\nThe keys are left out unless you say --keys; PARLEY_BACKUP_KEYS is for scheduled backups only. Without the encryption key (secret.key in the data folder, or PARLEY_SECRET_KEY), nobody can use the secrets in the backup, not even you: keep that key in another place. With a passphrase, the file is encrypted in the format of age, and "age -d" decrypts it, too.',
  arguments: [
    { name: 'file', help: 'The file to write, or to verify. - means standard output.', completes: 'files' },
  ],
  options: {
    verify: {
      type: 'boolean',
      help: 'Make no backup, but verify this one: check every hash, restore its database into a temporary folder, and compare all rows.',
    },
    'without-workspaces': { type: 'boolean', help: 'Leave out the files of conversations.' },
    snapshots: { type: 'boolean', help: 'Also include the snapshots, if PARLEY_SNAPSHOTS is a folder.' },
    keys: { type: 'boolean', help: 'Include the encryption key and the owner key. Use a passphrase.' },
    overwrite: { type: 'boolean', help: 'Replace the file if it exists.' },
    ...passphraseOption,
    ...jsonOption,
  },
  examples: [
    'backup /backups/parley.tar.zst',
    'backup --keys --passphrase-file passphrase.txt parley.tar.zst.age',
    'backup --verify /backups/parley.tar.zst',
  ],
  topics: ['output'],
});

export const restoreCommand = declare({
  name: 'restore',
  summary: 'Restore a backup',
  description:
    'Restores a backup into the data folder, or into PostgreSQL if DATABASE_URL is set, whichever it was made from. The service must be stopped. Everything is written and checked before anything that is there is changed.\n\nConversations that ran or waited when the backup was made are stopped, and can be resumed with a message. Webhook deliveries that were pending are sent again with the same ids, unless you say --hold-deliveries.',
  arguments: [{ name: 'file', help: 'The backup.', completes: 'files' }],
  options: {
    replace: {
      type: 'boolean',
      help: 'Replace what is there. Files are moved aside, into a folder replaced-TIME in the data folder; tables of PostgreSQL are deleted.',
    },
    'hold-deliveries': {
      type: 'boolean',
      help: 'Count pending webhook deliveries as failed, so that nothing is sent. For a copy of a service that still runs.',
    },
    ...passphraseOption,
    ...jsonOption,
  },
  examples: [
    'restore /backups/parley.tar.zst',
    'restore --replace --passphrase-file passphrase.txt parley.tar.zst.age',
  ],
  topics: ['output'],
});

export const completionCommand = declare({
  name: 'completion',
  summary: 'Print a completion script for your shell',
  description:
    'Prints a script that completes commands, options and ids of conversations. Add one of these lines to ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish:\n\n  eval "$(parley completion bash)"\n  eval "$(parley completion zsh)"\n  parley completion fish | source',
  arguments: [
    { name: 'shell', choices: ['bash', 'zsh', 'fish'], help: 'The shell. Default: bash.', optional: true },
  ],
  options: {},
  examples: ['completion bash'],
});

export const completeCommand = declare({
  name: 'complete',
  summary: 'Print what can complete a command line',
  description: 'Prints candidates for the last of the words, for the completion scripts.',
  arguments: [{ name: 'words', help: 'The words of the command line.', optional: true, multiple: true }],
  options: {},
  examples: ['complete -- sh'],
  hidden: true,
});

export const versionCommand = declare({
  name: 'version',
  summary: 'Print the version',
  description: 'Prints the version of this program.',
  arguments: [],
  options: {},
  examples: ['version'],
});

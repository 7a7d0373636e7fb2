// The commands that work with conversations, over HTTP.
import { gitProviders } from '../../git/providers.ts';
import { type CommandGroup, declare } from '../command.ts';
import {
  conversationArgument,
  followOptions,
  imageOption,
  jsonOption,
  messageArgument,
  partialsOption,
} from './sharedOptions.ts';

const topics = ['connection', 'output', 'exit-codes'] as const;

const newOptions = {
  folder: {
    type: 'string',
    value: 'FOLDER',
    help: 'Start with this folder of your machine: its repository, its branch, and changes that are not pushed.',
    completes: 'files',
  },
  local: {
    type: 'boolean',
    help: 'With --folder: let the agent work in the folder itself. The service must allow it (PARLEY_LOCAL_FOLDERS).',
  },
  repo: { type: 'string', value: 'OWNER/NAME', help: 'The repository to work on.' },
  branch: { type: 'string', value: 'NAME', help: 'The branch to start from.' },
  provider: {
    type: 'string',
    choices: gitProviders,
    value: 'NAME',
    help: 'Where the repository is hosted: github, gitlab or bitbucket.',
    shownDefault: 'github',
  },
  ...imageOption,
  agent: {
    type: 'string',
    value: 'NAME',
    help: 'The agent that does the work.',
    shownDefault: 'the one in your settings',
  },
  model: {
    type: 'string',
    value: 'NAME',
    help: 'The model that the agent uses, such as openai/gpt-5.',
    shownDefault: 'the one in your settings',
  },
  confirm: {
    type: 'string',
    choices: ['on', 'off'],
    value: 'on|off',
    help: 'Whether you have to approve what the agent does.',
    shownDefault: 'as in your settings',
  },
  instructions: { type: 'string', value: 'TEXT', help: 'Custom instructions for the agent.' },
  mcp: {
    type: 'string',
    value: 'FILE',
    help: 'MCP servers for this conversation: a JSON file with an mcp_config.',
    completes: 'files',
  },
  id: {
    type: 'string',
    value: 'ID',
    help: 'An id that you choose. Running the same command twice then creates one conversation.',
  },
} as const;

export const newCommand = declare({
  name: 'new',
  summary: 'Start a conversation',
  description:
    'Starts a conversation with a first message and prints its id. If the network fails, the request is retried and still creates one conversation.',
  arguments: [messageArgument],
  options: { ...newOptions, ...followOptions },
  takesMessage: true,
  examples: [
    'new --repo acme/shop --follow "Fix the failing test"',
    'new --folder . "Finish what I have begun"',
  ],
  topics,
});

const { follow: _, ...runOutputOptions } = followOptions;

export const runCommand = declare({
  name: 'run',
  summary: 'Start a conversation and follow it: new --follow',
  description: 'Starts a conversation and shows what happens until the agent waits for you.',
  arguments: [messageArgument],
  options: { ...newOptions, ...runOutputOptions },
  takesMessage: true,
  examples: [
    'run --repo acme/shop "Fix the failing test"',
    'run --agent codex --model openai/gpt-5 "Fix the failing test"',
  ],
  topics,
});

export const listCommand = declare({
  name: 'list',
  aliases: ['ls'],
  summary: 'List conversations',
  description:
    'Lists your conversations, newest first. On a terminal, ids and titles are shortened to fit; every command takes a shortened id. In a pipe nothing is shortened.',
  arguments: [],
  options: {
    status: {
      type: 'string',
      choices: ['starting', 'running', 'stopped'],
      value: 'STATUS',
      help: 'Only conversations with this status: starting, running or stopped.',
    },
    repo: { type: 'string', value: 'OWNER/NAME', help: 'Only conversations on this repository.' },
    search: {
      type: 'string',
      value: 'TEXT',
      help: 'Only conversations with this text in the title or the repository.',
    },
    archived: { type: 'boolean', help: 'Only conversations that are archived.' },
    pinned: { type: 'boolean', help: 'Only conversations that are pinned.' },
    unread: { type: 'boolean', help: 'Only conversations with events that you have not seen.' },
    limit: {
      type: 'string',
      value: 'N|all',
      default: '20',
      help: 'The most conversations to list.',
    },
    ...jsonOption,
  },
  examples: ['list --status running', 'list --limit all --json | jq -r .title'],
  topics,
});

export const searchCommand = declare({
  name: 'search',
  summary: 'Search titles and everything that was said',
  description:
    'Finds conversations, newest first, in whose title, messages, commands, output or edited paths all words are. A word may end with * to match words that begin with it, and quotes join words to a phrase. What was just said can be found a few seconds later.',
  arguments: [{ name: 'words', help: 'Words, "phrases" and prefixes*.', multiple: true }],
  options: {
    limit: { type: 'integer', value: 'N', default: 20, help: 'The most conversations to show.' },
    ...jsonOption,
  },
  examples: ['search parser test', `search '"empty line" pars*'`],
  topics,
});

export const showCommand = declare({
  name: 'show',
  summary: 'Show the details of a conversation',
  description:
    'Shows the status of a conversation or why it stopped, its model usage, the last message of the agent, and an open approval request.',
  arguments: [conversationArgument],
  options: jsonOption,
  examples: ['show 01a1dd04'],
  topics,
});

const logOptions = {
  from: { type: 'integer', value: 'N', default: 0, help: 'Start with event N.' },
  full: { type: 'boolean', help: 'Show long outputs in full.' },
  ...partialsOption,
  ...jsonOption,
} as const;

export const followCommand = declare({
  name: 'follow',
  summary: 'Show what happens in a conversation, live',
  description:
    'Shows what has happened in a conversation and what happens now, until the agent waits for you. A lost connection is restored; no event is lost or shown twice. Ctrl-C leaves; the conversation continues.',
  arguments: [conversationArgument],
  options: { stay: { type: 'boolean', help: 'Continue when the agent waits.' }, ...logOptions },
  examples: ['follow 01a1dd04', 'follow 01a1dd04 --from 40 --stay'],
  topics,
});

export const logsCommand = declare({
  name: 'logs',
  summary: 'Show what has happened in a conversation',
  description: 'Shows what has happened in a conversation so far.',
  arguments: [conversationArgument],
  options: {
    follow: { type: 'boolean', short: 'f', help: 'Then show what happens until the agent waits for you.' },
    ...logOptions,
  },
  examples: ['logs 01a1dd04', 'logs 01a1dd04 --json > events.jsonl'],
  topics,
});

export const sendCommand = declare({
  name: 'send',
  summary: 'Send a message to the agent',
  description:
    'Sends a message to the agent. A stopped conversation is resumed. If the agent is working, the message starts its next turn.',
  arguments: [conversationArgument, messageArgument],
  options: { ...imageOption, ...followOptions },
  takesMessage: true,
  examples: ['send 01a1dd04 --follow "Now add a test for it."', 'send 01a1dd04 < review.md'],
  topics,
});

export const forkCommand = declare({
  name: 'fork',
  summary: 'Start a conversation from an event of another',
  description:
    'Creates a conversation with the history of another one up to an event, with the files as they were at the end of that turn, and prints its id. Its agent knows nothing of what came later. Without --message it waits for one.',
  arguments: [conversationArgument],
  options: {
    event: {
      type: 'integer',
      value: 'N',
      help: 'The last event of the other conversation that it has.',
      shownDefault: 'the newest one',
    },
    message: { type: 'string', short: 'm', value: 'TEXT', help: 'Start it at once with this message.' },
    title: { type: 'string', value: 'TEXT', help: 'Its title.' },
    files: {
      type: 'string',
      choices: ['turn', 'latest', 'none'],
      value: 'turn|latest|none',
      help: 'The files that it starts with: those after the turn of the event, those of the last snapshot, or a new workspace.',
      shownDefault: 'turn',
    },
    agent: { type: 'string', value: 'NAME', help: 'Another agent.' },
    model: { type: 'string', value: 'NAME', help: 'Another model, such as openai/gpt-5.' },
    ...jsonOption,
  },
  examples: ['fork 01a1dd04', 'fork 01a1dd04 --event 41 --message "Try it without the cache."'],
  topics,
});

export const confirmCommand = declare({
  name: 'confirm',
  summary: 'Answer an approval request',
  description: 'Answers the approval request of an agent.',
  arguments: [
    conversationArgument,
    {
      name: 'answer',
      choices: ['allow', 'always', 'reject'],
      help: 'allow: only this action. always: this action and similar ones, if the agent supports it. reject: not this action; the agent continues without it.',
    },
  ],
  options: {
    question: {
      type: 'integer',
      value: 'N',
      help: 'Answer only if event N is the open request. Otherwise the answer applies to whatever is open.',
    },
    ...followOptions,
  },
  examples: ['confirm 01a1dd04 allow --follow', 'confirm 01a1dd04 reject --question 41'],
  topics,
});

const conversationArguments = [{ ...conversationArgument, multiple: true }] as const;

export const stopCommand = declare({
  name: 'stop',
  summary: 'Stop conversations',
  description: 'Stops conversations, whatever their agents are doing. A message or "start" resumes them.',
  arguments: conversationArguments,
  options: jsonOption,
  examples: ['stop 01a1dd04 01a1de77'],
  topics,
});

export const cancelCommand = declare({
  name: 'cancel',
  aliases: ['interrupt'],
  summary: 'Cancel what agents are working on',
  description:
    'Ends the current turn of agents, and drops messages that they have not received yet. The conversations keep running and wait for a message.',
  arguments: conversationArguments,
  options: jsonOption,
  examples: ['cancel 01a1dd04'],
  topics,
});

export const startCommand = declare({
  name: 'start',
  aliases: ['resume'],
  summary: 'Resume stopped conversations',
  description: 'Resumes stopped conversations. It does nothing to those that are running.',
  arguments: conversationArguments,
  options: jsonOption,
  examples: ['start 01a1dd04'],
  topics,
});

export const removeCommand = declare({
  name: 'rm',
  aliases: ['delete'],
  summary: 'Delete conversations',
  description:
    'Deletes conversations with all events and files. This cannot be undone. On a terminal it asks first. A shortened id must have at least 6 characters.',
  arguments: conversationArguments,
  options: { yes: { type: 'boolean', short: 'y', help: 'Do not ask.' }, ...jsonOption },
  examples: ['rm 01a1dd04', 'rm 01a1dd04b92b742a942af5401a2d02fc --yes'],
  topics,
});

export const renameCommand = declare({
  name: 'rename',
  summary: 'Change the title of a conversation',
  description: 'Changes the title of a conversation.',
  arguments: [conversationArgument, { name: 'title', help: 'The new title.', multiple: true }],
  options: jsonOption,
  examples: ['rename 01a1dd04 "The parser, again"'],
  topics,
});

export const archiveCommand = declare({
  name: 'archive',
  summary: 'Archive conversations',
  description:
    'Marks conversations as archived. "parley list --archived" and filters of the API select them; they stay in other lists. Their agents are not affected.',
  arguments: conversationArguments,
  options: { undo: { type: 'boolean', help: 'Unarchive them.' }, ...jsonOption },
  examples: ['archive 01a1dd04 01a1de77', 'archive --undo 01a1dd04'],
  topics,
});

export const pinCommand = declare({
  name: 'pin',
  summary: 'Pin conversations',
  description: 'Marks conversations as pinned. "parley list --pinned" and filters of the API select them.',
  arguments: conversationArguments,
  options: { undo: { type: 'boolean', help: 'Unpin them.' }, ...jsonOption },
  examples: ['pin 01a1dd04'],
  topics,
});

export const changeCommand = declare({
  name: 'change',
  summary: 'Change the agent, the model or the approval mode of a conversation',
  description:
    'Changes the agent, the model or the approval mode of a conversation from its next turn on. Another agent gets the history of the conversation. Your settings stay as they are.',
  arguments: [conversationArgument],
  options: {
    agent: { type: 'string', value: 'NAME', help: 'The agent; "default" is the one in your settings.' },
    model: {
      type: 'string',
      value: 'NAME',
      help: 'The model, such as openai/gpt-5; "default" is the one in your settings.',
    },
    confirm: {
      type: 'string',
      choices: ['on', 'off', 'default'],
      value: 'on|off|default',
      help: 'Whether you have to approve what the agent does; "default" is as in your settings.',
    },
    ...jsonOption,
  },
  examples: ['change 01a1dd04 --agent claude', 'change 01a1dd04 --confirm on'],
  topics,
});

export const diffCommand = declare({
  name: 'diff',
  summary: 'Show what a conversation has changed',
  description:
    'Shows the changed files of a conversation, compared with the commit at which it began. A pipe gets a patch for "git apply". Files that cannot be compared, such as binary files, are named on standard error, and the exit code is 1.',
  arguments: [
    conversationArgument,
    { name: 'path', help: 'Only this file, or the files in this folder.', optional: true, multiple: true },
  ],
  options: {
    names: { type: 'boolean', help: 'Show only the names of the changed files.' },
    json: { type: 'boolean', help: 'Print JSON, one object per file with its text before and after.' },
  },
  examples: ['diff 01a1dd04', 'diff 01a1dd04 src/ | git apply'],
  topics,
});

export const pullCommand = declare({
  name: 'pull',
  summary: 'Bring the work of a conversation into a local repository',
  description:
    'Creates a branch with everything that a conversation has changed, or with --apply changes the files of the working tree. A branch is never moved. Files with changes of yours are only overwritten if you agree, and are kept under a ref.',
  arguments: [conversationArgument],
  options: {
    apply: { type: 'boolean', help: 'Change the files of the working tree instead of creating a branch.' },
    branch: {
      type: 'string',
      value: 'NAME',
      help: 'The name of the new branch. If it exists, it gets a number.',
      shownDefault: 'parley/ID',
    },
    folder: {
      type: 'string',
      value: 'FOLDER',
      help: 'The local folder.',
      shownDefault: 'the current folder',
      completes: 'files',
    },
    force: { type: 'boolean', help: 'With --apply: do not ask before files with changes are overwritten.' },
    ...jsonOption,
  },
  examples: ['pull 01a1dd04', 'pull 01a1dd04 --apply'],
  topics,
});

export const filesCommand = declare({
  name: 'files',
  summary: 'List the files of a conversation',
  description:
    'Lists the files of a conversation, or of one of its folders. The names of folders end with a slash.',
  arguments: [
    conversationArgument,
    { name: 'folder', help: 'A folder in the workspace. Default: its top folder.', optional: true },
  ],
  options: jsonOption,
  examples: ['files 01a1dd04 src'],
  topics,
});

export const uploadCommand = declare({
  name: 'upload',
  summary: 'Upload files to a conversation',
  description:
    'Puts files into the workspace of a conversation and prints their paths there. A name that is taken gets a number. With --message, the agent is told the paths with this message. If the conversation is not running, the files wait until it starts.',
  arguments: [
    conversationArgument,
    { name: 'file', help: 'A file of this machine.', multiple: true, completes: 'files' },
  ],
  options: {
    message: { type: 'string', short: 'm', value: 'TEXT', help: 'Send this message with the files.' },
    ...jsonOption,
  },
  examples: ['upload 01a1dd04 report.pdf data.csv', 'upload 01a1dd04 log.txt -m "What went wrong here?"'],
  topics,
});

export const feedbackExportCommand = declare({
  name: 'feedback export',
  summary: 'Print stored feedback',
  description: 'Prints all feedback that you have stored about conversations as JSON lines, oldest first.',
  arguments: [],
  options: {},
  examples: ['feedback export > feedback.jsonl'],
  topics: ['connection', 'exit-codes'],
});

export const feedbackGroup: CommandGroup = {
  name: 'feedback',
  summary: 'Export feedback about conversations',
  description:
    'Feedback is what users of a client think of a conversation. It is stored by the service and sent nowhere.',
  commands: [feedbackExportCommand],
};

export const catCommand = declare({
  name: 'cat',
  summary: 'Print a file of a conversation',
  description: 'Prints a text file of a conversation.',
  arguments: [conversationArgument, { name: 'file', help: 'The path of the file in the workspace.' }],
  options: {},
  examples: ['cat 01a1dd04 src/main.ts > main.ts'],
  topics: ['connection', 'exit-codes'],
});

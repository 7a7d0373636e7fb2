// Every command, in the order in which they are shown.
import type { Entry } from './command.ts';

interface Group {
  readonly title: string;
  readonly entries: readonly Entry[];
}

export const groups: readonly Group[] = [
  {
    title: 'Conversations, over HTTP',
    entries: [
      {
        name: 'new',
        summary: 'Start a conversation',
        takesMessage: true,
        load: async () => (await import('./commands/new.ts')).newConversation,
      },
      {
        name: 'list',
        summary: 'List conversations',
        load: async () => (await import('./commands/list.ts')).list,
      },
      {
        name: 'show',
        summary: 'Show one',
        words: 'id',
        load: async () => (await import('./commands/show.ts')).show,
      },
      {
        name: 'follow',
        summary: 'Show what happens in one',
        words: 'id',
        load: async () => (await import('./commands/follow.ts')).follow,
      },
      {
        name: 'send',
        summary: 'Say something to the agent',
        words: 'id',
        takesMessage: true,
        load: async () => (await import('./commands/send.ts')).send,
      },
      {
        name: 'confirm',
        summary: 'Answer the question of an agent',
        words: 'id',
        load: async () => (await import('./commands/send.ts')).confirm,
      },
      {
        name: 'stop',
        summary: 'Stop one',
        words: 'ids',
        load: async () => (await import('./commands/steer.ts')).stop,
      },
      {
        name: 'start',
        summary: 'Start one again',
        words: 'ids',
        load: async () => (await import('./commands/steer.ts')).start,
      },
      {
        name: 'rm',
        summary: 'Delete one',
        words: 'ids',
        load: async () => (await import('./commands/steer.ts')).remove,
      },
      {
        name: 'diff',
        summary: 'Show what one has changed',
        words: 'id',
        load: async () => (await import('./commands/diff.ts')).diff,
      },
      {
        name: 'files',
        summary: 'List its files',
        words: 'id',
        load: async () => (await import('./commands/files.ts')).files,
      },
      {
        name: 'cat',
        summary: 'Print one of its files',
        words: 'id',
        load: async () => (await import('./commands/files.ts')).cat,
      },
      {
        name: 'rename',
        summary: 'Give one another title',
        words: 'id',
        load: async () => (await import('./commands/rename.ts')).rename,
      },
    ],
  },
  {
    title: 'A service, over HTTP where PARLEY_URL names one',
    entries: [
      {
        name: 'settings',
        summary: 'Read and write settings',
        words: ['get', 'set', 'import', 'export'],
        load: async () => (await import('./commands/settings.ts')).settings,
      },
      {
        name: 'keys',
        summary: 'Make, list and revoke credentials',
        words: ['create', 'list', 'revoke'],
        load: async () => (await import('./commands/keys.ts')).keys,
      },
      {
        name: 'webhooks',
        summary: 'Show webhooks and send failed messages again',
        words: ['list', 'failed', 'redeliver'],
        load: async () => (await import('./commands/webhooks.ts')).webhooks,
      },
      {
        name: 'doctor',
        summary: 'Look for what is wrong, and say what to do',
        load: async () => (await import('./doctor/doctor.ts')).doctor,
      },
    ],
  },
  {
    title: 'This machine',
    entries: [
      {
        name: 'serve',
        summary: 'Run the service',
        load: async () => (await import('./commands/serve.ts')).serve,
      },
      {
        name: 'agents',
        summary: 'Show agents and try them out',
        words: ['list', 'test'],
        load: async () => (await import('./commands/agents.ts')).agents,
      },
      {
        name: 'users',
        summary: 'List users',
        words: ['list'],
        load: async () => (await import('./commands/users.ts')).users,
      },
      {
        name: 'audit',
        summary: 'Show who changed what',
        load: async () => (await import('./commands/audit.ts')).audit,
      },
      {
        name: 'secrets',
        summary: 'Change the sealing key',
        words: ['rotate'],
        load: async () => (await import('./commands/secrets.ts')).secrets,
      },
      {
        name: 'completion',
        summary: 'Print what completes commands in a shell',
        words: ['bash'],
        load: async () => (await import('./commands/completion.ts')).createCompletion(commands),
      },
    ],
  },
];

export const commands: readonly Entry[] = groups.flatMap(({ entries }) => entries);

// Lines that make the fake agent speak, and tell what it was given.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { McpServer } from '@agentclientprotocol/sdk';
import type { Command } from './script.ts';
import { findKept, keep } from './session.ts';

const text = (value: string) => ({ type: 'text', text: value });

/** Names and kinds, and never a value. */
function describeServer(server: McpServer): string {
  if (!('type' in server)) {
    const env = server.env.map(({ name }) => name);
    return `${server.name} stdio ${[server.command, ...server.args].join(' ')} env:${env.join(',')}`;
  }
  return `${server.name} ${server.type} ${server.url} headers:${server.headers.map(({ name }) => name).join(',')}`;
}

export const talk = {
  /** `say Hello` */
  say: ({ say }, rest) => say(rest),

  /** `stream 50 word`: so many pieces of one message. */
  stream: async ({ update }, rest) => {
    const [count = '1', ...words] = rest.split(' ');
    for (let i = 0; i < Number(count); i++)
      await update({ sessionUpdate: 'agent_message_chunk', content: text(words.join(' ')) });
  },

  /** `spell Hello`: one message, a character a piece. */
  spell: async ({ update }, rest) => {
    for (const character of rest)
      await update({ sessionUpdate: 'agent_message_chunk', content: text(character) });
  },

  think: ({ update }, rest) => update({ sessionUpdate: 'agent_thought_chunk', content: text(rest) }),

  /** `plan a;b;c`: the first is done, the second under way. */
  plan: ({ update }, rest) =>
    update({
      sessionUpdate: 'plan',
      entries: rest.split(';').map((content, i) => ({
        content,
        priority: 'medium',
        status: ['completed', 'in_progress'][i] ?? 'pending',
      })),
    }),

  /** `commands plan;review`: what the user can type. */
  commands: ({ update }, rest) =>
    update({
      sessionUpdate: 'available_commands_update',
      availableCommands: rest.split(';').map((name) => ({
        name,
        description: `Does ${name}`,
        input: { hint: 'what' },
      })),
    }),

  /** `usage 100 200 0.5`: used, size, cost. */
  usage: ({ update }, rest) => {
    const [used, size, cost] = rest.split(' ').map(Number);
    const priced = cost === undefined ? {} : { cost: { amount: cost, currency: 'USD' } };
    return update({ sessionUpdate: 'usage_update', used, size, ...priced });
  },

  'unknown-update': ({ update }, rest) => update({ sessionUpdate: 'from_the_future', note: rest }),

  /** `flood 1000 [bytes]`: so many updates, one a piece. */
  flood: async ({ update, signal }, rest) => {
    const [count = 0, bytes = 1] = rest.split(' ').map(Number);
    for (let i = 0; i < count && !signal.aborted; i++)
      await update({ sessionUpdate: 'agent_message_chunk', content: text('x'.repeat(bytes)) });
  },

  sleep: ({ signal }, rest) => wait(Number(rest), undefined, { signal }).catch(() => {}),

  stderr: (_, rest) => {
    process.stderr.write(`${rest}\n`);
  },

  env: ({ say }, rest) => {
    const value = process.env[rest];
    return say(value === undefined ? `${rest} is not set` : `${rest}=${value}`);
  },

  cat: ({ say, session }, rest) => say(readText(resolve(session.cwd, rest))),

  remember: ({ session }, rest) => keep(session.id, { remembered: [rest] }),
  recall: ({ say, session }) => {
    const words = findKept(session.id)?.remembered ?? [];
    return say(words.length === 0 ? 'I remember nothing' : `I remember ${words.join(', ')}`);
  },

  mode: ({ say, session }) => say(`mode ${session.modeId ?? 'none'}`),

  'image-count': ({ say, prompt }) => say(`${prompt.filter(({ type }) => type === 'image').length} images`),

  'mcp-servers': ({ say, session }) =>
    say(
      session.mcpServers.length === 0 ? 'no MCP servers' : session.mcpServers.map(describeServer).join('\n'),
    ),

  refuse: () => 'refusal',
} satisfies Readonly<Record<string, Command>>;

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return `cannot read: ${(error as NodeJS.ErrnoException).code}`;
  }
}

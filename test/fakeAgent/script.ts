// What each line of a prompt makes the fake agent do. A line is a word and its rest; other lines are passed over.
import { type AgentContext, type ContentBlock, methods, type StopReason } from '@agentclientprotocol/sdk';
import { isActivityOn, notePrompt } from './activity.ts';
import { approvals } from './approvals.ts';
import { failures } from './failures.ts';
import { live } from './live.ts';
import { mcpServers } from './mcpServers.ts';
import { keep, type Session } from './session.ts';
import { talk } from './talk.ts';
import { tools } from './tools.ts';

export interface Turn {
  readonly session: Session;
  readonly client: AgentContext;
  readonly prompt: readonly ContentBlock[];
  /** Aborted by session/cancel. */
  readonly signal: AbortSignal;
}

export interface Script extends Turn {
  /** Sends an update, of any kind. */
  update(update: { readonly sessionUpdate: string; readonly [member: string]: unknown }): Promise<void>;
  /** Says a whole message, which is part of the history. */
  say(text: string): Promise<void>;
}

/** Awaited. Whoever returns `refusal` ends the turn. */
export type Command = (script: Script, rest: string) => unknown;

const commands: Readonly<Record<string, Command>> = {
  ...approvals,
  ...talk,
  ...tools,
  ...mcpServers,
  ...failures,
  ...live,
};

/** `{env:NAME}` in a line stands for the value of a variable. */
function expand(line: string): string {
  return line.replaceAll(/\{env:(\w+)\}/g, (_, name: string) => process.env[name] ?? '');
}

/** With `--activity` it also does what is quoted to it, so that it goes on with its work after an interruption. */
function readLine(line: string): string {
  return isActivityOn() ? line.replace(/^> /, '') : line;
}

export async function runScript(turn: Turn): Promise<StopReason> {
  const { session, client, prompt, signal } = turn;
  const script: Script = {
    ...turn,
    update: (update) =>
      client.notify<unknown>(methods.client.session.update, { sessionId: session.id, update }),
    say: async (text) => {
      const said = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } as const;
      keep(session.id, { history: [said] });
      await script.update(said);
    },
  };
  const text = prompt.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  keep(session.id, {
    history: [{ sessionUpdate: 'user_message_chunk', content: { type: 'text', text } }],
  });
  notePrompt(text);
  // Every turn leaves a mark in the log, also one that goes on after an interruption.
  if (isActivityOn()) await tools.work(script, '1 0');
  let known = false;
  for (const line of text.split('\n').map(readLine)) {
    const [, word = '', rest = ''] = /^\s*(\S+)\s*(.*)$/.exec(line) ?? [];
    if (!Object.hasOwn(commands, word)) continue;
    known = true;
    const outcome = await commands[word]?.(script, expand(rest));
    if (signal.aborted) return 'cancelled';
    if (outcome === 'refusal') return outcome;
  }
  if (!known) await script.say(`You said: ${text}`);
  return 'end_turn';
}

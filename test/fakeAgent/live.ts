// Lines that make the fake agent write text in pieces, and wait between them for as long as a test wants.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Command, Script } from './script.ts';

const pollMs = 10;

/** Pieces are separated by `|`; `\n` is a line break, and `@name` waits until HOME/name exists. */
async function* pieces(rest: string, { signal }: Script): AsyncGenerator<string> {
  for (const piece of rest.split('|')) {
    if (!piece.startsWith('@')) {
      yield piece.replaceAll('\\n', '\n');
      continue;
    }
    while (!existsSync(join(homedir(), piece.slice(1))) && !signal.aborted) await wait(pollMs);
    if (signal.aborted) return;
  }
}

const textOf = (text: string) => ({ type: 'text', text });

async function speak(kind: string, script: Script, rest: string): Promise<void> {
  for await (const piece of pieces(rest, script))
    await script.update({ sessionUpdate: kind, content: textOf(piece) });
}

/** A call with this id, whose output is sent as `show` tells. */
async function run(
  { update, signal }: Script,
  output: AsyncGenerator<string>,
  show: (piece: string, all: string) => Record<string, unknown>,
): Promise<void> {
  const toolCallId = randomUUID();
  const call = { title: 'make', kind: 'execute', rawInput: { command: 'make' } };
  await update({ sessionUpdate: 'tool_call', toolCallId, status: 'in_progress', ...call });
  let all = '';
  for await (const piece of output) {
    all += piece;
    await update({ sessionUpdate: 'tool_call_update', toolCallId, ...show(piece, all) });
  }
  if (signal.aborted) return;
  const content = [{ type: 'content', content: textOf(all) }];
  await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed', content });
}

export const live = {
  /** `stamps 40 25`: pieces of one message, each with the time of the machine's clock, so many milliseconds apart. */
  stamps: async ({ update, signal }, rest) => {
    const [count = 1, everyMs = 0] = rest.split(' ').map(Number);
    for (let i = 0; i < count && !signal.aborted; i++) {
      if (i > 0) await wait(everyMs);
      const text = `<${Number(process.hrtime.bigint()) / 1e6}> `;
      await update({ sessionUpdate: 'agent_message_chunk', content: textOf(text) });
    }
  },
  /** `chunks Hel|lo|@go| there`: one message. */
  chunks: (script, rest) => speak('agent_message_chunk', script, rest),
  /** Sends the chunks as a thought instead of a message. */
  ponder: (script, rest) => speak('agent_thought_chunk', script, rest),
  /** `print a\n|@go|b`: output of a command, of which only what was added is sent. */
  print: (script, rest) =>
    run(script, pieces(rest, script), (piece) => ({ _meta: { terminal_output: { data: piece } } })),
  /** The same, and all of it is sent again with each piece. */
  'print-again': (script, rest) =>
    run(script, pieces(rest, script), (_, all) => ({ content: [{ type: 'content', content: textOf(all) }] })),
} satisfies Readonly<Record<string, Command>>;

// `parley follow`: shows what happens in a conversation, from its start and live.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation } from '../conversationId.ts';
import { connectionHelp, exitHelp, followExitHelp, outputHelp } from '../exits.ts';
import { followConversation } from '../following.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';

const help = `Usage: ${commandName} follow ID [--from N] [--stay] [--full] [--json|--text]

Shows what has happened in a conversation, then what happens, until the agent waits for you. A lost connection is
made again, and nothing is missed or shown twice. Ctrl-C leaves; the conversation goes on.

  --from N   begins with event N instead of the first one
  --stay     goes on when the agent waits
  --full     shows outputs whole

${connectionHelp}${outputHelp}
${exitHelp}${followExitHelp.replace('With --follow it', 'It')}`;

function firstEvent(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new RefusalError('--from must be the number of an event.');
  return Number(text);
}

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: {
      ...outputOptions,
      from: { type: 'string', default: '0' },
      stay: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [typed, ...rest] = positionals;
  if (rest.length > 0) throw new RefusalError('Say one conversation.');
  const output = createOutput(values);
  const from = firstEvent(values.from);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  const { stay, full } = values;
  return followConversation({ parley, output, id, from, stay, full });
}

export const follow: Command = { help, run };

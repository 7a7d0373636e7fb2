// `parley rename`: gives a conversation another title.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation } from '../conversationId.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from '../exits.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';
import { plainLine } from '../terminal/plainText.ts';

const help = `Usage: ${commandName} rename ID TITLE [--json|--text]

Gives a conversation another title.

${connectionHelp}${outputHelp}
${exitHelp}`;

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: outputOptions,
    allowPositionals: true,
  });
  const [typed, ...words] = positionals;
  const title = words.join(' ');
  if (title === '') throw new RefusalError(`Say "${commandName} rename ID TITLE".`);
  const output = createOutput(values);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  await parley.conversations.rename(id, title);
  if (output.isJson) output.json({ conversation_id: id, success: true });
  else output.text(`Renamed: ${plainLine(title)}  ${output.style('dim', id)}\n`);
  return exits.done;
}

export const rename: Command = { help, run };

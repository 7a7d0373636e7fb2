// `parley files` and `parley cat`: the files that a conversation works on.
import { parseArgs } from 'node:util';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation } from '../conversationId.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from '../exits.ts';
import { createOutput, outputOptions } from '../terminal/output.ts';
import { plainLine, plainText } from '../terminal/plainText.ts';

const filesHelp = `Usage: ${commandName} files ID [FOLDER] [--json|--text]

Lists the files of a conversation, or those in a folder of it. Names of folders end with a slash.

${connectionHelp}${outputHelp}
${exitHelp}`;

async function runFiles(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: outputOptions,
    allowPositionals: true,
  });
  const [typed, folder, ...rest] = positionals;
  if (rest.length > 0) throw new RefusalError('Say one conversation, and one folder at most.');
  const output = createOutput(values);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  for (const name of await parley.workspace.files(id, folder)) {
    if (output.isJson) output.json(name);
    else output.text(`${plainLine(name)}\n`);
  }
  return exits.done;
}

export const files: Command = { help: filesHelp, run: runFiles };

const catHelp = `Usage: ${commandName} cat ID FILE

Prints a file of a conversation as it is; on a terminal with characters that it would obey spelled out. A file that is
not text is refused.

${connectionHelp}
${exitHelp}`;

async function runCat(argv: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...argv], allowPositionals: true });
  const [typed, file, ...rest] = positionals;
  if (file === undefined || rest.length > 0) throw new RefusalError(`Say "${commandName} cat ID FILE".`);
  const parley = connect();
  const { conversation_id: id } = await getConversation(parley, typed);
  const text = await parley.workspace.file(id, file);
  process.stdout.write(process.stdout.isTTY ? plainText(text) : text);
  return exits.done;
}

export const cat: Command = { help: catHelp, run: runCat };

// `parley stop`, `start` and `rm`.
import { parseArgs } from 'node:util';
import type { ConversationInfo, Parley } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';
import type { Command } from './command.ts';
import { connect } from './connection.ts';
import { getConversation } from './conversationId.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from './exits.ts';
import { createOutput, outputOptions } from './output.ts';
import { plainLine } from './plainText.ts';

interface Steering {
  readonly name: string;
  readonly help: string;
  /** What is said of each, for people. */
  readonly done: string;
  readonly act: (parley: Parley, id: string) => Promise<unknown>;
}

/** A command that does one thing to each conversation that it is given. */
function steering({ name, help, done, act }: Steering): Command {
  async function run(argv: readonly string[]): Promise<number> {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: outputOptions,
      allowPositionals: true,
    });
    if (positionals.length === 0) throw new RefusalError('Say which conversation; "parley list" shows them.');
    const output = createOutput(values);
    const parley = connect();
    // All are known before anything is done to the first.
    const meant: ConversationInfo[] = [];
    for (const typed of positionals) meant.push(await getConversation(parley, typed));
    for (const { conversation_id: id, title } of meant) {
      await act(parley, id);
      if (output.isJson) output.json({ conversation_id: id, success: true });
      else output.text(`${done}: ${plainLine(title)}  ${output.style('dim', id)}\n`);
    }
    return exits.done;
  }
  const usage = `Usage: parley ${name} ID… [--json|--text]\n\n${help}\n\n${connectionHelp}${outputHelp}\n${exitHelp}`;
  return { help: usage, run };
}

export const stop = steering({
  name: 'stop',
  help: 'Stops conversations, whatever their agents are doing. A message or "parley start" wakes them again.',
  done: 'Stopped',
  act: (parley, id) => parley.conversations.stop(id),
});

export const start = steering({
  name: 'start',
  help: 'Starts conversations again that have stopped. Those that live are left as they are.',
  done: 'Starts',
  act: (parley, id) => parley.conversations.start(id),
});

export const remove = steering({
  name: 'rm',
  help: 'Deletes conversations with all their events and files, for good.',
  done: 'Deleted',
  act: (parley, id) => parley.conversations.delete(id),
});

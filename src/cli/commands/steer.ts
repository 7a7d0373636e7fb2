// `parley stop`, `start` and `rm`.
import { parseArgs } from 'node:util';
import type { ConversationInfo, Parley } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation, sayWhich } from '../conversationId.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from '../exits.ts';
import { createOutput, type Output, outputOptions } from '../terminal/output.ts';
import { plainLine } from '../terminal/plainText.ts';
import { ask, canAsk } from '../terminal/prompt.ts';

interface Steering {
  readonly name: string;
  readonly help: string;
  /** What is said of each, for people; and where there was nothing left to do. */
  readonly done: string;
  readonly missing?: string;
  /** False: there was none. */
  readonly act: (parley: Parley, id: string) => Promise<unknown>;
  /** Whether it cannot be undone: then it is asked for, and short beginnings do not count. */
  readonly final?: boolean;
}

/** Fewer are typed by mistake. */
const finalCharsMin = 6;

/** All that are meant, each once. */
async function getAll(parley: Parley, words: readonly string[], final: boolean): Promise<ConversationInfo[]> {
  const meant = new Map<string, ConversationInfo>();
  for (const typed of words) {
    const info = await getConversation(parley, typed);
    const id = info.conversation_id;
    if (final && typed.length < finalCharsMin && typed !== id)
      throw new RefusalError(`Say more of ${typed}: ${finalCharsMin} characters at least, or the whole id.`);
    meant.set(id, info);
  }
  return [...meant.values()];
}

function nameOf({ title, conversation_id: id }: ConversationInfo, { style }: Output): string {
  return `${plainLine(title)}  ${style('dim', plainLine(id))}`;
}

async function mayDelete(meant: readonly ConversationInfo[], output: Output): Promise<boolean> {
  for (const info of meant) output.note(`  ${nameOf(info, output)}\n`);
  const what = meant.length === 1 ? 'it' : `these ${meant.length}`;
  const answer = await ask(`Delete ${what} with all events and files, for good? [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

/** A command that does one thing to each conversation that it is given. */
function steering({ name, help, done, missing = done, act, final = false }: Steering): Command {
  async function run(argv: readonly string[]): Promise<number> {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: {
        ...outputOptions,
        ...(final ? { yes: { type: 'boolean', short: 'y', default: false } as const } : {}),
      },
      allowPositionals: true,
    });
    if (positionals.length === 0) throw new RefusalError(sayWhich);
    const output = createOutput(values);
    const parley = connect();
    // All are known before anything is done to the first.
    const meant = await getAll(parley, positionals, final);
    if (final && values['yes'] !== true && canAsk() && !(await mayDelete(meant, output))) {
      output.note('Nothing is deleted.\n');
      return exits.failed;
    }
    const report = (info: ConversationInfo, success: boolean) => {
      if (output.isJson) output.json({ conversation_id: info.conversation_id, success });
      else output.text(`${success ? done : missing}: ${nameOf(info, output)}\n`);
    };
    // Told when all is done: a reader that goes away must not end it in the middle.
    const acts: (() => void)[] = [];
    try {
      for (const info of meant) {
        const success = (await act(parley, info.conversation_id)) !== false;
        acts.push(() => report(info, success));
      }
    } finally {
      for (const tell of acts) tell();
    }
    return exits.done;
  }
  const usage = `Usage: ${commandName} ${name} ID…${final ? ' [-y|--yes]' : ''} [--json|--text]\n\n${help}\n\n${connectionHelp}${outputHelp}\n${exitHelp}`;
  return { help: usage, run };
}

export const stop = steering({
  name: 'stop',
  help: `Stops conversations, whatever their agents are doing. A message or "${commandName} start" wakes them again.`,
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
  help: `Deletes conversations with all their events and files, for good. On a terminal it asks first, unless --yes is
given. An id may be shortened to ${finalCharsMin} characters, not further.`,
  done: 'Deleted',
  missing: 'Was gone already',
  final: true,
  act: (parley, id) => parley.conversations.delete(id),
});

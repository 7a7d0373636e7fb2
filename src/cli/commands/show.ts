// `parley show`: one conversation, what it took, and what was said last.
import { parseArgs } from 'node:util';
import { nextState, unknownState } from '../../client/agentState.ts';
import type { ConversationInfo, Parley } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { getConversation } from '../conversationId.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from '../exits.ts';
import { createOutput, type Output, outputOptions } from '../terminal/output.ts';
import { plainLine, plainText } from '../terminal/plainText.ts';
import { shortTime } from '../terminal/table.ts';
import { tellQuestion } from '../terminal/timeline.ts';
import { describeStatus } from './list.ts';

const tailEvents = 50;

const help = `Usage: ${commandName} show ID [--json|--text]

Shows a conversation: what it does or why it has stopped, what it took of its model, and the last words of the agent.

${connectionHelp}${outputHelp}
${exitHelp}`;

function facts(info: ConversationInfo, { style }: Output): string {
  const { usage, stop_reason: reason } = info;
  const tokens = (count: number) => plainLine(count.toLocaleString('en'));
  const repository = [info.selected_repository, info.selected_branch].filter((part) => part !== null);
  const rows: [string, string][] = [
    ['Id', plainLine(info.conversation_id)],
    ['Status', describeStatus(info, style)],
    ...(reason === null ? [] : [['', plainLine(reason.message)] as [string, string]]),
    ...(repository.length === 0 ? [] : [['Repository', plainLine(repository.join(' '))] as [string, string]]),
    ['Created', shortTime(info.created_at)],
    ['Changed', shortTime(info.last_updated_at)],
    [
      'Model',
      `${tokens(usage.requests)} requests, ${tokens(usage.input_tokens)} tokens in, ${tokens(usage.output_tokens)} out, $${usage.cost_usd.toFixed(4)}`,
    ],
  ];
  const lines = rows.map(([name, value]) => `${style('dim', name.padEnd(11))} ${value}\n`);
  return `${style('bold', plainLine(info.title))}\n${lines.join('')}`;
}

/** What the newest events tell. */
async function readTail(parley: Parley, id: string) {
  const { events } = await parley.conversations.events(id, { reverse: true, limit: tailEvents });
  const said = events.find(({ source, action }) => source === 'agent' && action === 'message');
  const words = said?.args?.['content'];
  return {
    words: typeof words === 'string' ? plainText(words).trimEnd() : '',
    state: events.reverse().reduce(nextState, unknownState),
  };
}

async function describe(parley: Parley, info: ConversationInfo, output: Output): Promise<string> {
  const { words, state } = await readTail(parley, info.conversation_id);
  const said = words === '' ? '' : `\n${words}\n`;
  const asks =
    state.question === undefined ? '' : tellQuestion(info.conversation_id, state.question, output.style);
  return `${facts(info, output)}${said}${asks}`;
}

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: outputOptions,
    allowPositionals: true,
  });
  const [typed, ...rest] = positionals;
  if (rest.length > 0) throw new RefusalError('Say one conversation.');
  const output = createOutput(values);
  const parley = connect();
  const info = await getConversation(parley, typed);
  if (output.isJson) output.json(info);
  else output.text(await describe(parley, info, output));
  return exits.done;
}

export const show: Command = { help, run };

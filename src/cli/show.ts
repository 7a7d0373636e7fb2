// `parley show`: one conversation, what it took, and what was said last.
import { parseArgs } from 'node:util';
import type { ConversationInfo, Parley } from '../client/parley.ts';
import { RefusalError } from '../errors.ts';
import { nextState, unknownState } from './agentState.ts';
import type { Command } from './command.ts';
import { connect } from './connection.ts';
import { getConversation } from './conversationId.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from './exits.ts';
import { describeStatus, shortTime } from './list.ts';
import { createOutput, type Output, outputOptions } from './output.ts';
import { plainLine, plainText } from './plainText.ts';
import { describeQuestion } from './timeline.ts';

const tailEvents = 50;

const help = `Usage: parley show ID [--json|--text]

Shows a conversation: what it does or why it has stopped, what it took of its model, and the last words of the agent.

${connectionHelp}${outputHelp}
${exitHelp}`;

function facts(info: ConversationInfo, { style }: Output): string {
  const { usage, stop_reason: reason } = info;
  const tokens = (count: number) => count.toLocaleString('en');
  const repository = [info.selected_repository, info.selected_branch].filter((part) => part !== null);
  const rows: [string, string][] = [
    ['Id', info.conversation_id],
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

/** What the agent said last, and what it asks. */
async function lastWords(parley: Parley, id: string, { style }: Output): Promise<string> {
  const { events } = await parley.conversations.events(id, { reverse: true, limit: tailEvents });
  const said = events.find(({ source, action }) => source === 'agent' && action === 'message');
  const { question } = events.reverse().reduce(nextState, unknownState);
  const words = said === undefined ? '' : `\n${plainText(String(said.args?.['content'] ?? '')).trimEnd()}\n`;
  if (question === undefined) return words;
  const asks = style(['bold', 'yellow'], 'The agent asks for your leave:');
  return `${words}\n${asks}\n  ${describeQuestion(question, style)}\n  parley confirm ${id} allow      or: always, reject\n`;
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
  else output.text(facts(info, output) + (await lastWords(parley, info.conversation_id, output)));
  return exits.done;
}

export const show: Command = { help, run };

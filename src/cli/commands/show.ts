// `parley show`: the details of one conversation, its model usage and the last message of its agent.
import { nextState, unknownState } from '../../client/agentState.ts';
import type { ConversationInfo, Parley } from '../../client/parley.ts';
import { plainLine, plainText } from '../../text/plainText.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { getConversation } from '../connection/conversationId.ts';
import type { showCommand } from '../declarations/conversations.ts';
import { exits } from '../exits.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { shortTime } from '../terminal/table.ts';
import { approvalPrompt } from '../terminal/timeline.ts';
import { describeStatus } from './list.ts';

const tailEvents = 50;

function usageText({
  requests,
  input_tokens: input,
  output_tokens: output,
  cost_usd: cost,
}: ConversationInfo['usage']) {
  const count = (value: number) => plainLine(value.toLocaleString('en'));
  return `${count(requests)} requests, ${count(input)} input tokens, ${count(output)} output tokens, $${cost.toFixed(4)}`;
}

function details(info: ConversationInfo, { style }: Output): string {
  const { stop_reason: reason } = info;
  const status = describeStatus(info);
  const statusText = plainLine(status.text);
  const repository = [info.selected_repository, info.selected_branch].filter((part) => part !== null);
  const rows: [string, string][] = [
    ['Id', plainLine(info.conversation_id)],
    ['Status', status.format === undefined ? statusText : style(status.format, statusText)],
    ...(reason === null ? [] : [['', plainLine(reason.message)] as [string, string]]),
    ...(repository.length === 0 ? [] : [['Repository', plainLine(repository.join(' '))] as [string, string]]),
    // A service of an earlier version does not have these fields.
    ...(info.agent ? [['Agent', plainLine(info.agent)] as [string, string]] : []),
    ...(info.llm_model ? [['Model', plainLine(info.llm_model)] as [string, string]] : []),
    ...(info.confirmation_mode == null
      ? []
      : [['Approval', info.confirmation_mode ? 'needed' : 'not needed'] as [string, string]]),
    ['Created', shortTime(info.created_at)],
    ['Updated', shortTime(info.last_updated_at)],
    ['Usage', usageText(info.usage)],
  ];
  const lines = rows.map(([name, value]) => `${style('dim', name.padEnd(11))} ${value}\n`);
  return `${style('bold', plainLine(info.title))}\n${lines.join('')}`;
}

/** Reads the last message of the agent and its state from the newest events. */
async function readTail(parley: Parley, id: string) {
  const { events } = await parley.conversations.events(id, { reverse: true, limit: tailEvents });
  const last = events.find((event) => event.type === 'action.message' && event.source === 'agent');
  return {
    message: last?.type === 'action.message' ? plainText(last.args.content).trimEnd() : '',
    state: events.reverse().reduce(nextState, unknownState),
  };
}

async function describe(parley: Parley, info: ConversationInfo, output: Output): Promise<string> {
  const { message, state } = await readTail(parley, info.conversation_id);
  const said = message === '' ? '' : `\n${message}\n`;
  const request =
    state.question === undefined ? '' : approvalPrompt(info.conversation_id, state.question, output.style);
  return `${details(info, output)}${said}${request}`;
}

export const show: Handler<typeof showCommand> = async ({ args, options }) => {
  const output = createOutput(options);
  const parley = connect();
  const info = await getConversation(parley, args.id);
  if (output.isJson) output.json(info);
  else output.text(await describe(parley, info, output));
  return exits.done;
};

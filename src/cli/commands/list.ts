// `parley list`: conversations in a table that fits the terminal.
import type { ConversationInfo, ConversationStatus, ListFilter } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Handler } from '../command.ts';
import { connect } from '../connection/connection.ts';
import { shortIds } from '../connection/conversationId.ts';
import type { listCommand } from '../declarations/conversations.ts';
import { exitOfStop, exits } from '../exits.ts';
import { createOutput, type Output } from '../terminal/output.ts';
import { describeProgress } from '../terminal/progress.ts';
import { type Cell, formatTable, relativeTime, shortTime } from '../terminal/table.ts';

const pageSize = 1_000;

function limitOf(text: string): number {
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new RefusalError('--limit must be a number from 1, or all.');
  return Number(text);
}

const activities: Readonly<Record<NonNullable<ConversationInfo['agent_state']>, Cell>> = {
  running: { text: 'running', format: 'green' },
  awaiting_user_input: { text: 'waiting for input', format: 'cyan' },
  awaiting_user_confirmation: { text: 'needs approval', format: 'yellow' },
};

/** What the agent does, or why the conversation stopped, in a few words. */
export function describeStatus(info: ConversationInfo): Cell {
  const { status, agent_state: state, start_progress: progress, stop_reason: reason } = info;
  // Older services do not report what the agent does.
  if (status === 'RUNNING') return (state && activities[state]) ?? activities.running;
  if (status === 'STARTING') return { text: `starting: ${describeProgress(progress)}`, format: 'yellow' };
  if (reason === null) return { text: 'stopped', format: 'dim' };
  const failed = exitOfStop(reason.code) === exits.failed;
  return { text: `stopped: ${reason.code.replaceAll('_', ' ')}`, format: failed ? 'red' : 'dim' };
}

/** A terminal gets what fits; a pipe gets everything in full. */
function printTable(infos: readonly ConversationInfo[], output: Output): void {
  const { isLive, style } = output;
  const short = shortIds(infos.map(({ conversation_id: id }) => id));
  const now = Date.now();
  const withRepository = infos.some(({ selected_repository: repository }) => repository !== null);
  const rows = infos.map((info): Cell[] => [
    { text: (isLive ? short.get(info.conversation_id) : undefined) ?? info.conversation_id },
    describeStatus(info),
    { text: isLive ? relativeTime(info.created_at, now) : shortTime(info.created_at), format: 'dim' },
    ...(withRepository ? [{ text: info.selected_repository ?? '' }] : []),
    { text: info.title },
  ]);
  const columns = [
    // An id that is cut further would be of no use.
    { heading: 'ID' },
    { heading: 'STATUS', widthMin: 8 },
    { heading: 'CREATED' },
    ...(withRepository ? [{ heading: 'REPOSITORY', widthMin: 10 }] : []),
    { heading: 'TITLE', widthMin: 16 },
  ];
  const widthMax = isLive ? output.columns : Number.POSITIVE_INFINITY;
  output.text(formatTable({ columns, rows, style, widthMax }));
}

export const list: Handler<typeof listCommand> = async ({ options }) => {
  const output = createOutput(options);
  const { repo, search, status, archived, pinned, unread } = options;
  const max = limitOf(options.limit);
  const filter: ListFilter = {
    ...(status === undefined ? {} : { status: status.toUpperCase() as ConversationStatus }),
    ...(repo === undefined ? {} : { selected_repository: repo }),
    ...(search === undefined ? {} : { q: search }),
    ...(archived && { archived }),
    ...(pinned && { pinned }),
    ...(unread && { unread }),
  };
  const infos: ConversationInfo[] = [];
  let left = max;
  for await (const info of connect().conversations.all({ ...filter, limit: Math.min(max, pageSize) })) {
    if (output.isJson) output.json(info);
    else infos.push(info);
    left -= 1;
    if (left === 0) break;
  }
  if (output.isJson) return exits.done;
  if (infos.length > 0) printTable(infos, output);
  else output.note(`No conversations. Start one: ${commandName} new "…"\n`);
  return exits.done;
};

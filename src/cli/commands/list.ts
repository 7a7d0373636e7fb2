// `parley list`: conversations as they are.
import { parseArgs } from 'node:util';
import type { ConversationInfo, ConversationStatus, ListFilter } from '../../client/parley.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { connectionHelp, exitHelp, exits, outputHelp } from '../exits.ts';
import { createOutput, outputOptions, type Style } from '../terminal/output.ts';
import { plainLine, shorten } from '../terminal/plainText.ts';
import { describeRuntimeStatus } from '../terminal/progress.ts';
import { formatTable, shortTime } from '../terminal/table.ts';

const pageSize = 1_000;
const titleMax = 60;
const statuses: readonly ConversationStatus[] = ['STARTING', 'RUNNING', 'STOPPED'];

const help = `Usage: ${commandName} list [--status STATUS] [--repo OWNER/NAME] [--search WORDS] [--limit N] [--json|--text]

Lists your conversations, newest first.

  --status STATUS    starting, running or stopped
  --repo OWNER/NAME  those on this repository
  --search WORDS     those with this in the title or the repository
  --limit N          at most so many (default: 20); all: every one

${connectionHelp}${outputHelp}
${exitHelp}`;

function limitOf(text: string): number {
  if (text === 'all') return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new RefusalError('--limit must be a number from 1, or all.');
  return Number(text);
}

function statusOf(text: string | undefined): { status?: ConversationStatus } {
  if (text === undefined) return {};
  const status = statuses.find((known) => known === text.toUpperCase());
  if (status === undefined) throw new RefusalError('--status must be starting, running or stopped.');
  return { status };
}

const activities: Readonly<Record<NonNullable<ConversationInfo['agent_state']>, string>> = {
  running: 'running: works',
  awaiting_user_input: 'running: waits for you',
  awaiting_user_confirmation: 'running: asks for permission',
};

/** What it does, or why it does nothing, in few words. */
export function describeStatus(
  { status, agent_state, runtime_status, stop_reason }: ConversationInfo,
  style: Style,
): string {
  // Older services do not tell what the agent does.
  if (status === 'RUNNING') return style('green', (agent_state && activities[agent_state]) ?? 'running');
  if (status === 'STARTING') return style('yellow', `starting: ${describeRuntimeStatus(runtime_status)}`);
  return stop_reason === null ? 'stopped' : `stopped: ${plainLine(stop_reason.code)}`;
}

function toRow(info: ConversationInfo): string[] {
  return [
    info.conversation_id,
    describeStatus(info, (_, text) => text),
    shortTime(info.created_at),
    plainLine(info.selected_repository ?? ''),
    shorten(plainLine(info.title), titleMax),
  ];
}

async function run(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...outputOptions,
      status: { type: 'string' },
      repo: { type: 'string' },
      search: { type: 'string' },
      limit: { type: 'string', default: '20' },
    },
  });
  const output = createOutput(values);
  const { repo, search } = values;
  const max = limitOf(values.limit);
  const filter: ListFilter = {
    ...statusOf(values.status),
    ...(repo === undefined ? {} : { selected_repository: repo }),
    ...(search === undefined ? {} : { q: search }),
  };
  const rows: string[][] = [];
  let left = max;
  for await (const info of connect().conversations.all({ ...filter, limit: Math.min(max, pageSize) })) {
    if (output.isJson) output.json(info);
    else rows.push(toRow(info));
    left -= 1;
    if (left === 0) break;
  }
  if (output.isJson) return exits.done;
  if (rows.length === 0) output.note(`There are none. Start one with: ${commandName} new "…"\n`);
  else output.text(formatTable(['ID', 'STATUS', 'CREATED', 'REPOSITORY', 'TITLE'], rows));
  return exits.done;
}

export const list: Command = { help, run };

// Follows a conversation until its agent waits for its user, and shows what happens.

import type { AgentState, ConversationInfo, Parley, ParleyEvent } from '../client/parley.ts';
import { commandName } from '../process/program.ts';
import { exitOfStop, exits } from './exits.ts';
import { exitOfSignal, untilInterrupted } from './terminal/interruption.ts';
import { type Output, outputOptions } from './terminal/output.ts';
import { plainLine } from './terminal/plainText.ts';
import { showProgress } from './terminal/progress.ts';
import { shellWord } from './terminal/shellWord.ts';
import { createTimeline, linesMaxOf, tellQuestion } from './terminal/timeline.ts';

/** Of commands that may follow what comes of them. */
export const followOptions = {
  ...outputOptions,
  follow: { type: 'boolean', short: 'f', default: false },
  full: { type: 'boolean', default: false },
} as const;

export interface Following {
  readonly parley: Parley;
  readonly output: Output;
  readonly id: string;
  /** The first event to show. */
  readonly from: number;
  /** Goes on when the agent waits. */
  readonly stay: boolean;
  /** Whether outputs are shown whole. */
  readonly full: boolean;
}

function printer({ output, full }: Following): (event: ParleyEvent) => void {
  if (output.isJson) return output.json;
  const tell = createTimeline({ style: output.style, linesMax: linesMaxOf(full) });
  return (event) => output.text(tell(event));
}

function reportConnection({ output }: Following): (state: 'live' | 'reconnecting') => void {
  let lost = false;
  return (state) => {
    if (state === 'reconnecting' && !lost) output.note('The connection is lost; trying again …\n');
    if (state === 'live' && lost) output.note('Connected again.\n');
    lost = state === 'reconnecting';
  };
}

/** Shows events until the agent waits, or a signal ends it: then its name is returned. */
async function showUntilWaiting(
  following: Following,
  signal: AbortSignal,
): Promise<AgentState | NodeJS.Signals> {
  const { parley, id, from, stay } = following;
  const print = printer(following);
  const progress = showProgress({ ...following, signal });
  let isLoading = false;
  const show = (event: ParleyEvent) => {
    progress.clear();
    print(event);
    if (event.observation === 'agent_state_changed') isLoading = event.extras?.['agent_state'] === 'loading';
    progress.set(isLoading);
  };
  const options = { from, signal, onState: reportConnection(following) };
  try {
    if (!stay) return await parley.untilWaiting(id, { ...options, onEvent: show });
    for await (const event of parley.events(id, options)) show(event);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    progress.end();
  }
  return signal.reason;
}

function explain(
  { output, id }: Following,
  state: AgentState,
  { stop_reason: reason }: ConversationInfo,
): number {
  const { style, text, isJson } = output;
  const say = (sentence: string) => {
    if (!isJson) text(sentence);
  };
  if (state.name === 'awaiting_user_confirmation') {
    say(tellQuestion(id, state.question, style));
    return exits.asks;
  }
  if (state.name !== 'stopped') {
    say(style('dim', `\nThe agent waits for you: ${commandName} send ${shellWord(id)} "…"\n`));
    return exits.done;
  }
  say(style('dim', `\nIt has stopped: ${plainLine(reason?.message ?? 'for no known reason')}\n`));
  return reason === null ? exits.done : exitOfStop(reason.code);
}

/** Returns the exit code, which tells how it ended. */
export async function followConversation(following: Following): Promise<number> {
  const { parley, output, id } = following;
  const end = await untilInterrupted(['SIGINT', 'SIGTERM'], (signal) => showUntilWaiting(following, signal));
  if (typeof end !== 'string') return explain(following, end, await parley.conversations.get(id));
  output.note(
    `\nLeft. The conversation goes on: ${commandName} follow ${shellWord(id)}, or ${commandName} stop ${shellWord(id)}\n`,
  );
  return exitOfSignal(end);
}

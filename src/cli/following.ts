// Follows a conversation until its agent waits for its user, and shows what happens.
import type { ConversationInfo, Parley, ParleyEvent } from '../client/parley.ts';
import { type AgentState, nextState, unknownState, waitsForUser } from './agentState.ts';
import { exitOfStop, exits } from './exits.ts';
import type { Output } from './output.ts';
import { plainLine } from './plainText.ts';
import { showProgress } from './progress.ts';
import { createTimeline, describeQuestion } from './timeline.ts';

export interface Following {
  readonly parley: Parley;
  readonly output: Output;
  readonly id: string;
  /** The first event to show. */
  readonly from: number;
  /** Goes on when the agent waits. */
  readonly stay: boolean;
  /** Of one output; Infinity shows all. */
  readonly linesMax: number;
}

const tailEvents = 50;

/** The newest event, and what the log tells of the agent up to it. */
async function readTail(parley: Parley, id: string): Promise<{ newest: number; state: AgentState }> {
  const { events } = await parley.conversations.events(id, { reverse: true, limit: tailEvents });
  return { newest: events[0]?.id ?? -1, state: events.reverse().reduce(nextState, unknownState) };
}

function printer({ output, linesMax }: Following): (event: ParleyEvent) => void {
  if (output.isJson) return output.json;
  const tell = createTimeline({ style: output.style, linesMax });
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

/** Calls `work` with a signal that Ctrl-C ends. */
async function untilInterrupted<Out>(work: (signal: AbortSignal) => Promise<Out>): Promise<Out> {
  const ending = new AbortController();
  const end = () => ending.abort();
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const name of signals) process.once(name, end);
  try {
    return await work(ending.signal);
  } finally {
    for (const name of signals) process.removeListener(name, end);
  }
}

/** Shows events until the agent waits. Undefined: the reader left. */
async function showUntilWaiting(following: Following, signal: AbortSignal): Promise<AgentState | undefined> {
  const { parley, id, from, stay } = following;
  const print = printer(following);
  const tail = await readTail(parley, id);
  if (!stay && tail.newest < from && waitsForUser(tail.state)) return tail.state;
  let state = tail.newest < from ? tail.state : unknownState;
  const progress = showProgress({ ...following, signal });
  try {
    for await (const event of parley.events(id, { from, signal, onState: reportConnection(following) })) {
      progress.clear();
      print(event);
      state = nextState(state, event);
      if (!stay && event.id >= tail.newest && waitsForUser(state)) return state;
      progress.set(event.id >= tail.newest && state.name === 'loading');
    }
    return undefined;
  } finally {
    progress.end();
  }
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
    const what = state.question === undefined ? '' : `\n  ${describeQuestion(state.question, style)}`;
    say(`\n${style(['bold', 'yellow'], 'The agent asks for your leave:')}${what}\n`);
    say(`  parley confirm ${id} allow      or: always, reject\n`);
    return exits.asks;
  }
  if (state.name !== 'stopped') {
    say(style('dim', `\nThe agent waits for you: parley send ${id} "…"\n`));
    return exits.done;
  }
  say(style('dim', `\nIt has stopped: ${plainLine(reason?.message ?? 'for no known reason')}\n`));
  return reason === null ? exits.done : exitOfStop(reason.code);
}

/** Returns the exit code, which tells how it ended. */
export async function followConversation(following: Following): Promise<number> {
  const { parley, output, id } = following;
  const state = await untilInterrupted((signal) => showUntilWaiting(following, signal));
  if (state !== undefined) return explain(following, state, await parley.conversations.get(id));
  output.note(`\nLeft. The conversation goes on: parley follow ${id}, or parley stop ${id}\n`);
  return exits.interrupted;
}

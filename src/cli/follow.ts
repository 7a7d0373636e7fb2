// Shows the log of a conversation, and follows it until its agent waits for the user.
import { nextState, unknownState } from '../client/agentState.ts';
import type { AgentState, ConversationInfo, Parley, ParleyEvent, PartialEvent } from '../client/parley.ts';
import { commandName } from '../process/program.ts';
import { plainLine, shellWord } from '../text/plainText.ts';
import { exitOfStop, exits } from './exits.ts';
import { exitOfSignal, untilInterrupted } from './terminal/interruption.ts';
import { createLiveText } from './terminal/liveText.ts';
import type { Output } from './terminal/output.ts';
import { showProgress } from './terminal/progress.ts';
import { approvalPrompt, createTimeline, linesMaxOf } from './terminal/timeline.ts';

const pageEvents = 100;
/** How long an approval request has no answer before it counts as open. */
const openApprovalMs = 200;

export interface FollowOptions {
  readonly parley: Parley;
  readonly output: Output;
  readonly id: string;
  /** The first event to show. */
  readonly from: number;
  /** Whether to continue when the agent waits. */
  readonly stay: boolean;
  /** Whether long outputs are shown in full. */
  readonly full: boolean;
  /** Whether text that is still being written is shown although the output is not a terminal. */
  readonly partials: boolean;
}

interface Printer {
  event(event: ParleyEvent): void;
  /** Absent if nothing is shown before it is in the log. */
  readonly partial?: (partial: PartialEvent) => void;
  /** Must be called before something else is printed. */
  clear(): void;
}

function jsonPrinter({ output, partials }: FollowOptions): Printer {
  // Programs get the fields of the API; `type` belongs to the client.
  const print = ({ type: _, ...fields }: ParleyEvent | PartialEvent) => output.json(fields);
  return { event: print, clear: () => {}, ...(partials ? { partial: print } : {}) };
}

function printer(options: FollowOptions): Printer {
  const { output, full, partials } = options;
  if (output.isJson) return jsonPrinter(options);
  const format = createTimeline({ style: output.style, linesMax: linesMaxOf(full) });
  const live = createLiveText(output);
  const event = (one: ParleyEvent) => {
    live.clear();
    output.text(live.restOf(one, format(one)));
    live.show();
  };
  return { event, clear: live.clear, ...(output.isLive || partials ? { partial: live.add } : {}) };
}

function reportConnection(
  { output }: FollowOptions,
  { clear }: Printer,
): (state: 'live' | 'reconnecting') => void {
  let lost = false;
  return (state) => {
    clear();
    if (state === 'reconnecting' && !lost) output.note('The connection is lost. Reconnecting …\n');
    if (state === 'live' && lost) output.note('Reconnected.\n');
    lost = state === 'reconnecting';
  };
}

/** Whether the turn has failed so far: the log has an error, and no later message of the agent. */
function hasFailed(before: boolean, event: ParleyEvent): boolean {
  if (event.replayed === true) return before;
  if (event.type === 'observation.error') return true;
  const isSpeech = event.type === 'action.message' && event.source === 'agent';
  const isTurnStart =
    event.type === 'observation.agent_state_changed' && event.extras.agent_state === 'running';
  return isSpeech || isTurnStart ? false : before;
}

interface Waiting extends AgentState {
  /** Whether the last turn ended with an error, such as a model that cannot be reached. */
  readonly failed: boolean;
}

/**
 * Shows an open approval request and rings the bell, for a command that stays. In the log, the answer follows a request
 * at once, so only one without an answer is still open after a moment.
 */
function createApprovalAlert({ output, id, stay }: FollowOptions, { clear }: Printer) {
  let state = unknownState;
  let timer: NodeJS.Timeout | undefined;
  const alert = () => {
    clear();
    if (!output.isJson) output.text(approvalPrompt(id, state.question, output.style));
    output.bell();
  };
  return {
    event: (event: ParleyEvent) => {
      state = nextState(state, event);
      clearTimeout(timer);
      const isOpen = state.name === 'awaiting_user_confirmation' && state.question !== undefined;
      if (stay && isOpen) timer = setTimeout(alert, openApprovalMs);
    },
    end: () => clearTimeout(timer),
  };
}

/** Shows events until the agent waits, and returns its state, or the name of the signal that ended it. */
async function showUntilWaiting(
  options: FollowOptions,
  signal: AbortSignal,
): Promise<Waiting | NodeJS.Signals> {
  const { parley, id, from, stay } = options;
  const print = printer(options);
  const progress = showProgress({ ...options, signal });
  const approvals = createApprovalAlert(options, print);
  let isLoading = false;
  let failed = false;
  const show = (event: ParleyEvent) => {
    progress.clear();
    print.event(event);
    approvals.event(event);
    failed = hasFailed(failed, event);
    if (event.type === 'observation.agent_state_changed') isLoading = event.extras.agent_state === 'loading';
    progress.set(isLoading);
  };
  const streamOptions = { from, signal, onState: reportConnection(options, print) };
  try {
    if (!stay) {
      const state = await parley.untilWaiting(id, {
        ...streamOptions,
        onEvent: show,
        onPartial: print.partial,
      });
      return { ...state, failed };
    }
    const events: AsyncIterable<ParleyEvent | PartialEvent> =
      print.partial === undefined
        ? parley.events(id, streamOptions)
        : parley.events(id, { ...streamOptions, partials: true });
    for await (const event of events)
      if (event.type === 'partial') print.partial?.(event);
      else show(event);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    approvals.end();
    print.clear();
    progress.end();
  }
  return signal.reason;
}

function explain(
  { output, id }: FollowOptions,
  state: Waiting,
  { stop_reason: reason }: ConversationInfo,
): number {
  const { style, text, isJson } = output;
  const print = (sentence: string) => {
    if (!isJson) text(sentence);
  };
  if (state.name === 'awaiting_user_confirmation') {
    output.bell();
    print(approvalPrompt(id, state.question, style));
    return exits.needsApproval;
  }
  if (state.name !== 'stopped' && state.name !== 'paused') {
    print(style('dim', `\nThe agent waits for your input: ${commandName} send ${shellWord(id)} "…"\n`));
    return state.failed ? exits.failed : exits.done;
  }
  print(
    style(
      'dim',
      `\nThe conversation has stopped: ${plainLine(reason?.message ?? 'the reason is unknown.')}\n`,
    ),
  );
  return reason === null ? exits.done : exitOfStop(reason.code);
}

/** Returns an exit code that depends on how the conversation ended. */
export async function followConversation(options: FollowOptions): Promise<number> {
  const { parley, output, id } = options;
  const end = await untilInterrupted(['SIGINT', 'SIGTERM'], (signal) => showUntilWaiting(options, signal));
  if (typeof end !== 'string') return explain(options, end, await parley.conversations.get(id));
  output.note(
    `\nThe conversation continues. See ${commandName} follow ${shellWord(id)}, or ${commandName} stop ${shellWord(id)}\n`,
  );
  return exitOfSignal(end);
}

/** Prints the events that there are now. */
export async function printLog(options: FollowOptions): Promise<number> {
  const { parley, id } = options;
  const print = printer(options);
  for (let next = options.from; ; ) {
    const { events, has_more: hasMore } = await parley.conversations.events(id, {
      start_id: next,
      limit: pageEvents,
    });
    for (const event of events) print.event(event);
    const last = events.at(-1);
    if (!hasMore || last === undefined) return exits.done;
    next = last.id + 1;
  }
}

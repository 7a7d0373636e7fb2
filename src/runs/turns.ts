// The turns of a run: the messages of the user are sent to the agent, and those that arrive during a turn wait for the
// next.
import type { ContentBlock } from '@agentclientprotocol/sdk';
import type { Agent, TurnEnd } from '../agents/acp/agent.ts';
import { AgentError } from '../agents/acp/errors.ts';
import type { EventMapper } from '../agents/acp/events.ts';
import type { RunProgress } from '../conversations/run/records.ts';
import { agentStateChanged, cancelled, errorEvent } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import type { Clock, Timer } from '../process/clock.ts';
import type { UserMessage } from './prompts/inbox.ts';
import type { Cancellation, Messages } from './prompts/messages.ts';
import type { Recorder } from './recorder.ts';
import { NextRun, RunEnd } from './runEnd.ts';
import type { RunFaults } from './runFaults.ts';

/** Unfinished text of an agent is shown after this time. */
const flushMs = 3_000;

const oddEnds: Readonly<Partial<Record<TurnEnd['stopReason'], NewEvent>>> = {
  max_tokens: errorEvent('MAX_TOKENS', 'The agent stopped because its answer became too long.'),
  max_turn_requests: errorEvent(
    'MAX_TURN_REQUESTS',
    'The agent stopped because it needed too many steps for one message.',
  ),
  refusal: errorEvent('REFUSAL', 'The agent refuses to go on with this.'),
};

interface TurnsOptions {
  readonly agent: Agent;
  readonly messages: Messages;
  readonly recorder: Recorder;
  readonly mapper: EventMapper;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** How long the agent may take to end a turn that its user cancelled. */
  readonly cancelMs: number;
  /** Handles errors of work that nobody awaits. */
  readonly watch: RunFaults['watch'];
  /** The prompt that continues a turn which an earlier run left unfinished. */
  readonly continuation: readonly ContentBlock[] | undefined;
  /** The first event that the agent was not given yet. */
  readonly heard: number;
  /** The first event that the agent may lack; it is before `heard` if the last turn did not end. */
  readonly turnFrom: number;
  toBlocks(messages: readonly UserMessage[]): Promise<ContentBlock[]>;
  /** Called right before the agent is given a prompt. */
  onPrompt(): void;
  beginTurn(): Promise<void>;
  /** Throws if the conversation must stop. */
  endTurn(): void;
  /** Called after a turn. The agent was given everything that the user said before this event. */
  onTurnEnd(heard: number): void;
}

/** After its answer, the agent certainly has the messages of the turn and the start of its session. */
const turnEnded = { turn_from: null, session_from: null } as const;

interface EndedTurn {
  readonly events: readonly NewEvent[];
  readonly progress: RunProgress;
  /** The agent did not end a turn that was cancelled, so the next run must start it again. */
  readonly isAgentLost: boolean;
  readonly isCancelled: boolean;
}

/** Why a dead agent stops its conversation. */
export function agentEnd(error: AgentError): RunEnd {
  // The cause is a RunEnd if the service itself has ended the agent.
  return error.cause instanceof RunEnd
    ? error.cause
    : new RunEnd('agent_error', error.message, error.details);
}

/** Returns when the signal is aborted. Throws RunEnd if the agent has ended, and NextRun if it must be started again. */
export async function runTurns(options: TurnsOptions): Promise<void> {
  const { agent, messages, recorder, mapper, signal, watch, toBlocks } = options;
  const gone = agent.closed.then((error) => Promise.reject(agentEnd(error)));
  gone.catch(() => {
    // The rejection is handled by whoever waits for the turn.
  });
  const aborted = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  );

  /** The end of a turn with or without an answer. If the user has cancelled it, that is why it ended. */
  function endedTurn(event?: NewEvent, isAgentLost = false): EndedTurn {
    const cancellation = messages.takeCancellation();
    // An agent that is lost may lack the messages of this turn, so they stay recorded. The turn is not continued.
    const progress = isAgentLost ? ({ turn_open: 0 } as const) : turnEnded;
    if (cancellation === undefined)
      return {
        events: [...mapper.end(), ...(event === undefined ? [] : [event])],
        progress,
        isAgentLost,
        isCancelled: false,
      };
    const { id, dropped } = cancellation;
    return {
      events: [...mapper.end(), cancelled(id, { turn: true, messages: dropped })],
      // The next run must not find the dropped messages.
      progress: { ...progress, ...(dropped ? { heard: id + 1 } : {}) },
      isAgentLost,
      isCancelled: true,
    };
  }

  /** An agent that is cancelled may also answer with an error, or die. */
  async function finish(turn: Promise<TurnEnd | undefined>): Promise<EndedTurn> {
    try {
      const end = await turn;
      return end === undefined ? endedTurn(undefined, true) : endedTurn(oddEnds[end.stopReason]);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      if (error.code === 'refused' || error.code === 'auth_needed')
        return endedTurn(errorEvent('AGENT_ERROR', error.message));
      if (messages.isCancelled() && !(error.cause instanceof RunEnd)) return endedTurn(undefined, true);
      await recorder.add(mapper.end());
      throw agentEnd(error);
    }
  }

  /** Gives the prompt to the agent. Settles when the turn is over; with undefined if it was cancelled and goes on. */
  async function prompt(blocks: readonly ContentBlock[], heard: number): Promise<TurnEnd | undefined> {
    const overdue = Promise.withResolvers<undefined>();
    let timer: Timer | undefined;
    messages.onCancel(() => {
      watch(agent.cancel);
      timer ??= options.clock.after(options.cancelMs, () => overdue.resolve(undefined));
    });
    const flushes = options.clock.every(flushMs, () => watch(() => recorder.add(mapper.flush())));
    options.onPrompt();
    const turn = agent.prompt(blocks, heard);
    turn.catch(() => {
      // The agent is ended if it is overdue.
    });
    return Promise.race([turn, overdue.promise]).finally(() => {
      flushes.stop();
      timer?.stop();
      messages.onCancel(undefined);
    });
  }

  let { turnFrom } = options;
  /** The progress of a turn that ended after the run was stopped, when it could not be recorded. */
  let unrecorded: RunProgress = {};

  const idleEvents = () => (messages.isEmpty() ? [agentStateChanged('awaiting_user_input')] : []);

  /** Records that the agent does not get what the user has cancelled before it got it. */
  async function recordDropped({ id, dropped }: Cancellation, turn: boolean): Promise<void> {
    await recorder.step({
      events: [cancelled(id, { turn, messages: dropped }), ...idleEvents()],
      progress: { turn_open: 0, heard: id + 1 },
    });
  }

  /**
   * Records the turn right before it gives the messages to the agent. If the run is lost before that, the agent does
   * not have them; after it that is unknown, and the next run marks them as a repetition.
   */
  async function runTurn(blocks: readonly ContentBlock[], heard: number): Promise<void> {
    await options.beginTurn();
    const started = await recorder.step({
      events: [agentStateChanged('running')],
      progress: { turn_open: 1, turn_from: turnFrom, heard },
    });
    if (started === undefined) return;
    const early = messages.takeCancellation();
    if (early !== undefined) return recordDropped(early, true);
    const { events, progress, isAgentLost, isCancelled } = await finish(prompt(blocks, heard));
    if ((await recorder.step({ events, progress })) === undefined) {
      unrecorded = progress;
      await recorder.add(events);
    }
    turnFrom = progress.heard ?? heard;
    options.onTurnEnd(turnFrom);
    options.endTurn();
    await recorder.step({
      events: idleEvents(),
      progress: { turn_open: 0, claims: 0, question: null },
      waitsForAnswer: !isCancelled,
    });
    if (isAgentLost) throw new NextRun();
  }

  async function runAll(): Promise<void> {
    if (options.continuation !== undefined) await runTurn(options.continuation, options.heard);
    while (!signal.aborted) {
      await Promise.race([messages.arrival(), gone, aborted]);
      if (signal.aborted) return;
      const cancellation = messages.takeCancellation();
      if (cancellation?.dropped) await recordDropped(cancellation, false);
      const said = messages.take();
      if (said.length === 0) continue;
      const blocks = await Promise.race([toBlocks(said), gone, aborted]);
      if (blocks === undefined) return;
      await runTurn(blocks, (said.at(-1)?.id ?? 0) + 1);
    }
  }

  /** Completes the log for what was in progress when the run was stopped. */
  async function recordRest(): Promise<void> {
    if (signal.aborted) await recorder.recordFinal(mapper.end(), unrecorded);
  }

  await runAll().finally(recordRest);
}

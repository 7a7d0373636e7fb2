// The turns of a run: the messages of the user are sent to the agent, and those that arrive during a turn wait for the
// next.
import type { ContentBlock } from '@agentclientprotocol/sdk';
import type { Agent, TurnEnd } from '../agents/acp/agent.ts';
import { AgentError } from '../agents/acp/errors.ts';
import type { EventMapper } from '../agents/acp/events.ts';
import type { RunProgress } from '../conversations/run/store.ts';
import { agentStateChanged, errorEvent } from '../events/shapes.ts';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import type { UserMessage } from './prompts/inbox.ts';
import type { Messages } from './prompts/messages.ts';
import type { Recorder } from './recorder.ts';
import { RunEnd } from './runEnd.ts';
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
  /** Handles errors of work that nobody awaits. */
  readonly watch: RunFaults['watch'];
  /** The prompt that continues a turn which an earlier run left unfinished. */
  readonly continuation: readonly ContentBlock[] | undefined;
  /** The first event that the agent was not given yet. */
  readonly heard: number;
  /** The first event that the agent may lack; it is before `heard` if the last turn did not end. */
  readonly turnFrom: number;
  toBlocks(messages: readonly UserMessage[]): Promise<ContentBlock[]>;
  beginTurn(): Promise<void>;
  /** Throws if the conversation must stop. */
  endTurn(): void;
}

/** After its answer, the agent certainly has the messages of the turn and the start of its session. */
const turnEnded = { turn_from: null, session_from: null } as const;

/** Why a dead agent stops its conversation. */
export function agentEnd(error: AgentError): RunEnd {
  // The cause is a RunEnd if the service itself has ended the agent.
  return error.cause instanceof RunEnd
    ? error.cause
    : new RunEnd('agent_error', error.message, error.details);
}

/** Returns when the signal is aborted. Throws RunEnd if the agent has ended. */
export async function runTurns(options: TurnsOptions): Promise<void> {
  const { agent, messages, recorder, mapper, signal, watch, toBlocks } = options;
  const gone = agent.closed.then((error) => Promise.reject(agentEnd(error)));
  gone.catch(() => {
    // The rejection is handled by whoever waits for the turn.
  });
  const aborted = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  );

  /** The events that end a turn, with or without an answer. */
  async function finish(turn: Promise<TurnEnd>): Promise<NewEvent[]> {
    try {
      const { stopReason } = await turn;
      const odd = oddEnds[stopReason];
      return [...mapper.end(), ...(odd === undefined ? [] : [odd])];
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      if (error.code === 'refused' || error.code === 'auth_needed')
        return [...mapper.end(), errorEvent('AGENT_ERROR', error.message)];
      await recorder.add(mapper.end());
      throw agentEnd(error);
    }
  }

  let { turnFrom } = options;
  /** The progress of a turn that ended after the run was stopped, when it could not be recorded. */
  let unrecorded: RunProgress = {};

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
    const flushes = setInterval(() => watch(() => recorder.add(mapper.flush())), flushMs);
    const events = await finish(agent.prompt(blocks, heard)).finally(() => clearInterval(flushes));
    if ((await recorder.step({ events, progress: turnEnded })) === undefined) {
      unrecorded = turnEnded;
      await recorder.add(events);
    }
    turnFrom = heard;
    options.endTurn();
    await recorder.step({
      events: messages.isEmpty() ? [agentStateChanged('awaiting_user_input')] : [],
      progress: { turn_open: 0, claims: 0, question: null },
    });
  }

  async function runAll(): Promise<void> {
    if (options.continuation !== undefined) await runTurn(options.continuation, options.heard);
    while (!signal.aborted) {
      const said = await Promise.race([messages.take(), gone, aborted]);
      if (said === undefined) return;
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

// The prompts of a session that wait for their response. The log shows how the turn of each one has ended.
import { type PromptResponse, RequestError, type StopReason } from '@agentclientprotocol/sdk';
import type { AgentState } from '../client/agentState.ts';
import { type ConversationInfo, ParleyError, type ParleyEvent, type StopCode } from '../client/parley.ts';
import { toRequestError } from './requestErrors.ts';

/** Prompts of one session that wait for their response. */
const promptsMax = 16;

type ErrorEvent = Extract<ParleyEvent, { type: 'observation.error' }>;

export interface Prompt {
  /** The id of its message in the log, when that is known. */
  event: number | undefined;
  settle(end: StopReason | Error): void;
}

/** How turns end that did not end by themselves. */
const stopReasons: Readonly<Partial<Record<StopCode, StopReason>>> = {
  user: 'cancelled',
  finished: 'end_turn',
  max_iterations: 'max_turn_requests',
};
const errorReasons: Readonly<Record<string, StopReason>> = {
  MAX_TOKENS: 'max_tokens',
  MAX_TURN_REQUESTS: 'max_turn_requests',
  REFUSAL: 'refusal',
};

const hasStopped = ({ name }: AgentState) => name === 'stopped' || name === 'paused';

function endOfConversation(reason: ConversationInfo['stop_reason']): StopReason | Error {
  if (reason === null) return 'cancelled';
  return stopReasons[reason.code] ?? new ParleyError('unexpected', reason.message);
}

function endOfTurn(error: ErrorEvent | undefined): StopReason | Error {
  if (error === undefined) return 'end_turn';
  return errorReasons[error.extras.error_id] ?? new ParleyError('unexpected', error.content);
}

/** `readStopReason` is called when the conversation has stopped. */
export function createPrompts(readStopReason: () => Promise<ConversationInfo['stop_reason']>) {
  const prompts = new Set<Prompt>();
  let turnError: ErrorEvent | undefined;

  /** Those whose message is in the log before this event. */
  function listBefore(eventId: number): Prompt[] {
    return [...prompts].filter(({ event }) => event !== undefined && event < eventId);
  }

  return {
    /** Throws if too many prompts wait. */
    begin: (): { readonly prompt: Prompt; readonly response: Promise<PromptResponse> } => {
      if (prompts.size >= promptsMax)
        throw RequestError.invalidRequest({ promptsMax }, 'too many prompts wait for their answer');
      const { promise: response, resolve, reject } = Promise.withResolvers<PromptResponse>();
      const prompt: Prompt = {
        event: undefined,
        settle: (end) => {
          prompts.delete(prompt);
          if (end instanceof Error) reject(toRequestError(end));
          else resolve({ stopReason: end });
        },
      };
      prompts.add(prompt);
      return { prompt, response };
    },

    areWaiting: (): boolean => prompts.size > 0,

    /** The turn has had an error, which may be how it ends. */
    noteError: (event: ErrorEvent): void => {
      turnError = event;
    },

    /** Answers the prompts before this event, if it shows that the agent has ended its turn. */
    settleEnded: async (event: ParleyEvent, state: AgentState): Promise<void> => {
      if (event.type !== 'observation.agent_state_changed') return;
      const isWaiting = state.name === 'awaiting_user_input' && !state.unheard;
      if (!hasStopped(state) && !isWaiting) return;
      const done = listBefore(event.id);
      if (done.length > 0) {
        const end = hasStopped(state) ? endOfConversation(await readStopReason()) : endOfTurn(turnError);
        for (const prompt of done) prompt.settle(end);
      }
      turnError = undefined;
    },

    /** Answers the prompts that were cancelled, by this client or another one. Returns whether there were any. */
    settleCancelled: (event: ParleyEvent): boolean => {
      if (event.type !== 'observation.notice' || event.extras.notice_id !== 'CANCELLED') return false;
      const done = listBefore(event.cause ?? -1);
      for (const prompt of done) prompt.settle('cancelled');
      return done.length > 0;
    },

    fail: (error: Error): void => {
      for (const prompt of prompts) prompt.settle(error);
    },
  };
}

// Builds the events that several rooms write, and turns events into the text that the log stores.
import { wellFormedJson } from '../text/foreignText.ts';
import type { AgentState } from './decoder/words.ts';
import type { NewAction, NewEvent, NewObservation } from './vocabulary/vocabulary.ts';

/** An event of another conversation, which may have any shape. */
export interface ReplayedEvent {
  readonly timestamp?: string;
  readonly replayed: true;
  readonly [field: string]: unknown;
}

export function userMessage(
  content: string,
  imageUrls: readonly string[],
  fileUrls: readonly string[] = [],
): NewAction {
  return {
    source: 'user',
    message: content,
    action: 'message',
    args: {
      content,
      image_urls: [...imageUrls],
      file_urls: [...fileUrls],
      wait_for_response: false,
    },
  };
}

/** A command that the user typed. */
export function userCommand(command: string, toolCallId: string): NewAction {
  return {
    source: 'user',
    message: command,
    action: 'run',
    args: { command, thought: '' },
    tool_call_id: toolCallId,
  };
}

export function agentStateChanged(agentState: AgentState, reason = ''): NewObservation {
  return {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: agentState, reason },
  };
}

/** The first event of every start. */
export const loading = agentStateChanged('loading');
const loadingText = JSON.stringify(loading);

/**
 * Serializes an event without its id and adds `timestamp` if it has none. Every event passes through here, so this is
 * where lone surrogates are replaced.
 */
export function eventText(event: NewEvent | ReplayedEvent, timestamp: string): string {
  const text = event === loading ? loadingText : wellFormedJson(JSON.stringify(event));
  return event.timestamp === undefined ? `{"timestamp":"${timestamp}",${text.slice(1)}` : text;
}

/** Information for readers of the log that is not an error. Programs recognize it by `noticeId`. */
export function notice(sentence: string, noticeId?: string): NewObservation {
  const extras = noticeId === undefined ? {} : { notice_id: noticeId };
  return { source: 'environment', message: sentence, observation: 'notice', content: sentence, extras };
}

export const interruptedId = 'INTERRUPTED';

/** Recorded if a run ends in the middle of a turn; the next run continues the turn. */
export const interrupted = notice(
  'The agent was interrupted: the process that ran it ended before the turn did. Actions that were in progress may or may not have been completed.',
  interruptedId,
);

/** The user cancels the turn, and messages that the agent was not given yet. */
export const userCancels: NewAction = {
  source: 'user',
  message: 'Cancelled.',
  action: 'change_agent_state',
  args: { agent_state: 'awaiting_user_input' },
};

const turnCancelledSentence = 'The turn was cancelled.';
const messagesCancelledSentence = 'Messages that the agent had not received yet were cancelled.';

/** Recorded when this has happened; `cause` is the event of the user. */
export function cancelled(
  cause: number,
  { turn, messages }: { readonly turn: boolean; readonly messages: boolean },
): NewObservation {
  const sentences = [turn && turnCancelledSentence, messages && messagesCancelledSentence];
  return { ...notice(sentences.filter(Boolean).join(' '), 'CANCELLED'), cause } as NewObservation;
}

export const approvalRequestExpired = notice('The approval request has expired; the agent may ask again.');

export function agentChanged(agent: string): NewObservation {
  return notice(`From the next turn on, the agent is ${agent}.`, 'AGENT_CHANGED');
}

/** Null means the model in the settings. */
export function modelChanged(model: string | null): NewObservation {
  const which = model === null ? 'the one in the settings' : model;
  return notice(`From the next turn on, the model is ${which}.`, 'MODEL_CHANGED');
}

/** Null means what the settings say. */
export function confirmationChanged(mode: boolean | null): NewObservation {
  const what =
    mode === null
      ? 'your settings say whether actions need your approval'
      : `actions ${mode ? 'need your approval' : 'need no approval'}`;
  return notice(`From the next turn on, ${what}.`, 'CONFIRMATION_MODE_CHANGED');
}

/** Follows the events that a fork has of its source. */
export function forked(source: string, eventId: number): NewObservation {
  return notice(`This conversation was forked from ${source} after its event ${eventId}.`, 'FORKED');
}

/** An error, as a sentence for people; `errorId` is for programs. */
export function errorEvent(errorId: string, sentence: string): NewObservation {
  return {
    source: 'environment',
    message: sentence,
    observation: 'error',
    content: sentence,
    extras: { error_id: errorId },
  };
}

/** Recorded after the user rejected the action that began this tool call. */
export function userRejected(toolCallId: string): NewObservation {
  const sentence = 'The user rejected this action.';
  return {
    source: 'agent',
    message: sentence,
    observation: 'user_rejected',
    content: sentence,
    extras: {},
    tool_call_id: toolCallId,
  };
}

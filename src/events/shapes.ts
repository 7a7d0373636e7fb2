// Events as clients read them. An id counts from 0 in each conversation.
import { wellFormedJson } from '../text/foreignText.ts';

export type EventSource = 'user' | 'agent' | 'environment';

type AgentState =
  | 'loading'
  | 'running'
  | 'awaiting_user_input'
  | 'paused'
  | 'stopped'
  | 'finished'
  | 'rejected'
  | 'error'
  | 'awaiting_user_confirmation'
  | 'user_confirmed'
  | 'user_rejected'
  | 'rate_limited';

/** An event before it has its number. */
export interface NewEvent {
  readonly timestamp?: string;
  readonly source: EventSource;
  readonly message: string;
  readonly [member: string]: unknown;
}

export function userMessage(
  content: string,
  imageUrls: readonly string[],
  fileUrls: readonly string[] = [],
): NewEvent {
  return {
    source: 'user',
    message: content,
    action: 'message',
    args: { content, image_urls: imageUrls, file_urls: fileUrls, wait_for_response: false },
  };
}

export function agentStateChanged(agentState: AgentState, reason = ''): NewEvent {
  return {
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: agentState, reason },
  };
}

/** Every start begins with it. */
export const loading = agentStateChanged('loading');
const loadingText = JSON.stringify(loading);

/**
 * Serializes an event without its id and adds `timestamp` if it has none. Every event passes through here, so this is
 * where lone surrogates are replaced.
 */
export function eventText(event: NewEvent, timestamp: string): string {
  const text = event === loading ? loadingText : wellFormedJson(JSON.stringify(event));
  return event.timestamp === undefined ? `{"timestamp":"${timestamp}",${text.slice(1)}` : text;
}

/** Information for readers of the log that is not an error. Programs recognize it by `noticeId`. */
export function notice(sentence: string, noticeId?: string): NewEvent {
  const extras = noticeId === undefined ? {} : { notice_id: noticeId };
  return { source: 'environment', message: sentence, observation: 'notice', content: sentence, extras };
}

const interruptedId = 'INTERRUPTED';

/** Recorded if a run ends in the middle of a turn; the next run continues the turn. */
export const interrupted = notice(
  'The agent was interrupted: the process that ran it ended before the turn did. Actions that were in progress may or may not have been completed.',
  interruptedId,
);

function extraOf({ extras }: Readonly<Record<string, unknown>>, name: string): unknown {
  return typeof extras === 'object' && extras !== null
    ? (extras as Record<string, unknown>)[name]
    : undefined;
}

export function isInterrupted(event: Readonly<Record<string, unknown>>): boolean {
  return event['observation'] === 'notice' && extraOf(event, 'notice_id') === interruptedId;
}

/** The agent state that the event sets; undefined for other events. */
export function agentStateName(event: Readonly<Record<string, unknown>>): unknown {
  return event['observation'] === 'agent_state_changed' ? extraOf(event, 'agent_state') : undefined;
}

export const questionExpired = notice('The question of the agent has expired; it may ask again.');

/** A fault, in words for people; `errorId` is for programs. */
export function errorEvent(errorId: string, sentence: string): NewEvent {
  return {
    source: 'environment',
    message: sentence,
    observation: 'error',
    content: sentence,
    extras: { error_id: errorId },
  };
}

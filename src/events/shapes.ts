// Events as clients read them. An id counts from 0 in each conversation.
import { wellFormedJson } from '../foreignText.ts';

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
 * The text of an event, as stored but for its number; without a time of its own it gets `timestamp`. Every event is
 * written here, so this is where its text becomes well-formed Unicode.
 */
export function eventText(event: NewEvent, timestamp: string): string {
  const text = event === loading ? loadingText : wellFormedJson(JSON.stringify(event));
  return event.timestamp === undefined ? `{"timestamp":"${timestamp}",${text.slice(1)}` : text;
}

/** Something that a reader of the log should know, and that is no fault. */
export function notice(sentence: string): NewEvent {
  return { source: 'environment', message: sentence, observation: 'notice', content: sentence, extras: {} };
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

// Events as clients read them. An id counts from 0 in each conversation.

export type EventSource = 'user' | 'agent' | 'environment';

export const agentStates = [
  'loading',
  'running',
  'awaiting_user_input',
  'paused',
  'stopped',
  'finished',
  'rejected',
  'error',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
  'rate_limited',
] as const;
export type AgentState = (typeof agentStates)[number];

/** An event before it has its number. */
export interface NewEvent {
  readonly timestamp?: string;
  readonly source: EventSource;
  readonly message: string;
  readonly [member: string]: unknown;
}

export function userMessage(content: string, imageUrls: readonly string[]): NewEvent {
  return {
    source: 'user',
    message: content,
    action: 'message',
    args: { content, image_urls: imageUrls, file_urls: [], wait_for_response: false },
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

/** Every conversation begins with it. */
export const loading = agentStateChanged('loading');
const loadingText = JSON.stringify(loading);

function textOf(event: NewEvent): string {
  return event === loading ? loadingText : JSON.stringify(event);
}

/** The stored text of events, numbered from `firstId`; those without a time of their own get `timestamp`. */
export function numberEvents(events: readonly NewEvent[], firstId: number, timestamp: string): string[] {
  return events.map((event, i) => {
    const time = event.timestamp === undefined ? `"timestamp":"${timestamp}",` : '';
    return `{"id":${firstId + i},${time}${textOf(event).slice(1)}`;
  });
}

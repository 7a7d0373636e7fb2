// The values of enumerated fields, shared by the vocabulary and the decoder. This file has no imports, so that the
// client can use it, too.

export const eventSources = ['user', 'agent', 'environment'] as const;
export type EventSource = (typeof eventSources)[number];

/** `finished`, `rejected`, `error` and `rate_limited` occur in imported logs only. */
export const agentStates = [
  'loading',
  'running',
  'awaiting_user_input',
  'awaiting_user_confirmation',
  'user_confirmed',
  'user_rejected',
  'paused',
  'stopped',
  'finished',
  'rejected',
  'error',
  'rate_limited',
] as const;
export type AgentState = (typeof agentStates)[number];

export const decisions = ['allow', 'allow_always', 'reject'] as const;
export type Decision = (typeof decisions)[number];

/** What the user asks for: an answer to an approval request, or the end of the turn. */
export const wantedStates = ['user_confirmed', 'user_rejected', 'awaiting_user_input'] as const;

/** `unfinished`: the turn ended before the call did. */
export const outcomes = ['completed', 'failed', 'unfinished'] as const;
export type Outcome = (typeof outcomes)[number];

export const operations = ['edit', 'delete', 'move'] as const;
export type Operation = (typeof operations)[number];

export const confirmationStates = ['awaiting_confirmation', 'confirmed'] as const;
export type ConfirmationState = (typeof confirmationStates)[number];

export const taskStatuses = ['todo', 'in_progress', 'done'] as const;
export type TaskStatus = (typeof taskStatuses)[number];

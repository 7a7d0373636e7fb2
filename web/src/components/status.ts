// The status of a conversation: why it stopped, and what its agent is doing.
import type { ConversationInfo } from '../../../src/client/parley.ts';

/** The same as those of the command line. Limits and people stop a conversation, too, but nothing has failed then. */
const failures: ReadonlySet<string> = new Set([
  'agent_error',
  'agent_missing',
  'no_sandbox',
  'workspace_error',
  'start_timeout',
  'unconfirmed_action',
]);

/** These fields are in a conversation and in a change. */
export interface StopInfo {
  readonly status: ConversationInfo['status'] | null;
  readonly stop_reason: ConversationInfo['stop_reason'];
}

/** Whether it stopped without a request of the user, so that the reason should be shown. */
export function stoppedByItself({ status, stop_reason }: StopInfo): boolean {
  return status === 'STOPPED' && stop_reason !== null && stop_reason.code !== 'user';
}

export function stoppedByError({ status, stop_reason }: StopInfo): boolean {
  return status === 'STOPPED' && stop_reason !== null && failures.has(stop_reason.code);
}

export type Activity = 'running' | 'waiting' | 'needsApproval';

const activities: ReadonlyMap<string | null, Activity> = new Map([
  ['running', 'running'],
  ['awaiting_user_input', 'waiting'],
  ['awaiting_user_confirmation', 'needsApproval'],
]);

export function activityOf(agentState: string | null): Activity | undefined {
  return activities.get(agentState);
}

export type ConversationState = Activity | 'starting' | 'stopped' | 'failed';

/** One word for what a conversation is doing. */
export function stateOf(info: StopInfo & Pick<ConversationInfo, 'agent_state'>): ConversationState {
  if (info.status === 'STARTING') return 'starting';
  if (info.status === 'RUNNING') return activityOf(info.agent_state) ?? 'running';
  return stoppedByError(info) ? 'failed' : 'stopped';
}

/** An approval request always needs the user; an agent that has ended its turn only until they have seen that. */
export function needsUser(info: StopInfo & Pick<ConversationInfo, 'agent_state' | 'unread'>): boolean {
  const state = stateOf(info);
  return state === 'needsApproval' || (info.unread && (state === 'waiting' || state === 'failed'));
}

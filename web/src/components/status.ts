// The status of a conversation: why it stopped, and what its agent is doing.
import type { ConversationInfo } from '../../../src/client/parley.ts';

const normalStopReasons: ReadonlySet<string> = new Set(['user', 'finished', 'idle', 'shutdown']);

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
  return status === 'STOPPED' && stop_reason !== null && !normalStopReasons.has(stop_reason.code);
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

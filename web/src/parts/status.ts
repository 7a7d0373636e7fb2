// How a conversation stands: why it ended, and what its agent does.
import type { ConversationInfo } from '../../../src/client/parley.ts';

/** Ends that are no fault. */
const goodEnds: ReadonlySet<string> = new Set(['user', 'finished', 'idle', 'shutdown']);

/** Of a conversation, or of a change. */
export interface Ending {
  readonly status: ConversationInfo['status'] | null;
  readonly stop_reason: ConversationInfo['stop_reason'];
}

/** Whether it stopped, and nobody asked for it: there is a reason to tell. */
export function endedByItself({ status, stop_reason }: Ending): boolean {
  return status === 'STOPPED' && stop_reason !== null && stop_reason.code !== 'user';
}

/** Whether it stopped for a fault. */
export function endedBadly({ status, stop_reason }: Ending): boolean {
  return status === 'STOPPED' && stop_reason !== null && !goodEnds.has(stop_reason.code);
}

/** What the agent does. */
export type Activity = 'working' | 'waiting' | 'asking';

const activities: ReadonlyMap<string | null, Activity> = new Map([
  ['running', 'working'],
  ['awaiting_user_input', 'waiting'],
  ['awaiting_user_confirmation', 'asking'],
]);

/** Undefined where the state says nothing of it. */
export function activityOf(agentState: string | null): Activity | undefined {
  return activities.get(agentState);
}

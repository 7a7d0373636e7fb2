// The status of a conversation as a sentence, for screen readers.
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { activityOf } from '../../components/status.ts';
import type { Texts } from '../../texts/en.ts';
import type { LogState } from '../items.ts';

export const startSteps = [
  'waiting_for_worker',
  'starting_sandbox',
  'preparing_workspace',
  'starting_agent',
] as const;

/** The current step, and its details. */
export function startStep({ start_progress: progress }: Pick<ConversationInfo, 'start_progress'>) {
  const { step, details } = progress ?? { step: startSteps[0], details: null };
  const index = startSteps.indexOf(step);
  return { index, name: startSteps[index], details: details ?? '' };
}

export function statusText(
  info: ConversationInfo | undefined,
  state: LogState,
  { conversation, status }: Texts,
): string {
  if (info === undefined) return '';
  if (info.status === 'STOPPED') return info.stop_reason?.message ?? conversation.stopped;
  if (info.status === 'STARTING') {
    const { name } = startStep(info);
    return name === undefined ? status.STARTING : conversation.runtime[name];
  }
  if (state.approval !== undefined) return conversation.needsApproval(state.approval.summary);
  const activity = activityOf(state.agentState);
  return activity === undefined ? status.RUNNING : status[activity];
}

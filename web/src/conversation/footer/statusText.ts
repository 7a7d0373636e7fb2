// The status of a conversation as a sentence, for screen readers.
import type { ConversationInfo } from '../../../../src/client/parley.ts';
import { activityOf } from '../../components/status.ts';
import type { Texts } from '../../texts/en.ts';
import type { LogState } from '../items.ts';

export const startSteps = [
  'STATUS$WAITING_FOR_WORKER',
  'STATUS$STARTING_RUNTIME',
  'STATUS$SETTING_UP_WORKSPACE',
  'STATUS$STARTING_AGENT',
] as const;

/** The current step, and its details. */
export function startStep({ runtime_status: status }: Pick<ConversationInfo, 'runtime_status'>) {
  const [name = '', ...rest] = (status ?? startSteps[0]).split(': ');
  const index = (startSteps as readonly string[]).indexOf(name);
  return { index, name: startSteps[index], details: rest.join(': ') };
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

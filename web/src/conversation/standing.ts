// How a conversation stands, in a sentence: what is told to whoever does not see it.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { activityOf } from '../components/status.ts';
import type { Texts } from '../texts/en.ts';
import type { LogState } from './items.ts';

/** In the order in which they come. */
export const startSteps = [
  'STATUS$WAITING_FOR_WORKER',
  'STATUS$STARTING_RUNTIME',
  'STATUS$SETTING_UP_WORKSPACE',
  'STATUS$STARTING_AGENT',
] as const;

/** Which step is under way, and what is said of it. */
export function startStep({ runtime_status: status }: Pick<ConversationInfo, 'runtime_status'>) {
  const [name = '', ...rest] = (status ?? startSteps[0]).split(': ');
  const index = (startSteps as readonly string[]).indexOf(name);
  return { index, name: startSteps[index], details: rest.join(': ') };
}

/** Empty where nothing is known. */
export function standingText(
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
  if (state.question !== undefined) return conversation.asks(state.question.about);
  const activity = activityOf(state.agentState);
  return activity === undefined ? status.RUNNING : status[activity];
}

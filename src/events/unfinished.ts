// Builds the observation for an action whose run ended before the result was recorded.
import { isObject } from '../text/foreignText.ts';
import type { NewEvent } from './shapes.ts';

/** The content of an observation if the call was cut off before it had any output. */
export const unfinishedContent = 'It did not finish.';

/** Stands for the exit code of a command if it is unknown. */
export const unknownExitCode = -1;

type Members = Readonly<Record<string, unknown>>;

/** Fields that an action has and its observation does not repeat. */
const ofAction: ReadonlySet<string> = new Set(['thought', 'diff', 'confirmation_state', 'security_risk']);

export function unfinishedObservation({ action, args, tool_call_id: call }: Members): NewEvent {
  const about = Object.entries(isObject(args) ? args : {}).filter(([name]) => !ofAction.has(name));
  return {
    source: 'agent',
    message: '',
    observation: action === 'call_tool_mcp' ? 'mcp' : action,
    content: unfinishedContent,
    extras: {
      ...Object.fromEntries(about),
      ...(action === 'run' ? { metadata: { exit_code: unknownExitCode } } : {}),
      outcome: 'unfinished',
    },
    tool_call_id: call,
  };
}

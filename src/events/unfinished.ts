// The observation of an action whose end nobody saw, from the action as it is stored.
import type { NewEvent } from './shapes.ts';

/** What an observation says of a call that gave nothing before it was cut off. */
export const unfinishedContent = 'It did not come to an end.';

/** Where nobody knows the exit code of a command. */
export const unknownExitCode = -1;

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** Told by the action alone. */
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

// Turns a tool call into events of the log: an action when it begins and an observation when it ends.

import type { NewEvent } from '../../events/shapes.ts';
import { unfinishedContent, unknownExitCode } from '../../events/unfinished.ts';
import { commandIn, textMember } from './callFields.ts';
import type { Params } from './peer.ts';
import { type ToolCall, terminalText } from './toolCall.ts';

export type Risk = 'low' | 'medium' | 'high';

/** Existing clients expect these numbers. */
const riskNumbers: Readonly<Record<Risk, number>> = { low: 0, medium: 1, high: 2 };

/** Whether the call waits for approval or was allowed without a request. */
export interface CallConfirmation {
  readonly state: 'awaiting_confirmation' | 'confirmed';
  readonly risk: Risk;
}

function commandOf({ input, title }: ToolCall): string {
  return commandIn(input) ?? title.replaceAll('`', '');
}

export interface Told {
  /** The name of the action, and of the observation unless `observation` names it. */
  readonly name: string;
  readonly observation?: string;
  /** Fields that identify the target, such as the path; both the action and the observation carry them. */
  readonly about: Params;
}

const fileKinds: readonly string[] = ['edit', 'delete', 'move'];

export function tell(call: ToolCall): Told {
  const { kind, path, title, input, mcpTool } = call;
  if (mcpTool !== undefined)
    return { name: 'call_tool_mcp', observation: 'mcp', about: { name: mcpTool, arguments: input ?? {} } };
  if (kind === 'execute') return { name: 'run', about: { command: commandOf(call) } };
  if (fileKinds.includes(kind)) return { name: 'edit', about: { path: path ?? title, operation: kind } };
  if (kind === 'read') return { name: 'read', about: { path: path ?? title } };
  const url = kind === 'fetch' ? textMember(input, 'url') : undefined;
  if (url !== undefined) return { name: 'browse', about: { url } };
  return { name: 'call_tool', about: { name: title, kind, arguments: input ?? {} } };
}

/** `request` holds what else the agent sent with an approval request, so that the user sees all of it. */
export function toAction(call: ToolCall, confirmation?: CallConfirmation, request: Params = {}): NewEvent {
  const { name, about } = tell(call);
  const asked =
    confirmation === undefined
      ? {}
      : { confirmation_state: confirmation.state, security_risk: riskNumbers[confirmation.risk] };
  return {
    source: 'agent',
    message: call.title,
    action: name,
    args: {
      ...about,
      ...(call.diff === '' ? {} : { diff: call.diff }),
      thought: '',
      ...asked,
      ...(Object.keys(request).length === 0 ? {} : { request }),
    },
    tool_call_id: call.id,
  };
}

function resultOf(call: ToolCall, outcome: string): Params {
  const { name } = tell(call);
  if (name === 'run')
    return { metadata: { exit_code: call.exitCode ?? (outcome === 'completed' ? 0 : unknownExitCode) } };
  if (name === 'edit' && call.existed !== undefined) return { prev_exist: call.existed };
  return {};
}

/** An `unfinished` call had not ended when its turn did. */
export function toObservation(call: ToolCall, outcome: 'completed' | 'failed' | 'unfinished'): NewEvent {
  const { name, observation = name, about } = tell(call);
  const text = [call.diff, call.output || terminalText(call)].filter((part) => part !== '').join('\n');
  return {
    source: 'agent',
    message: '',
    observation,
    content: text === '' && outcome === 'unfinished' ? unfinishedContent : text,
    extras: { ...about, ...resultOf(call, outcome), outcome },
    tool_call_id: call.id,
  };
}

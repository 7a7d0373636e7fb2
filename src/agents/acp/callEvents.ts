// Turns a tool call into events of the log: an action when it begins and an observation when it ends.

import { type Operation, type Outcome, operations } from '../../events/decoder/words.ts';
import { unfinishedContent, unknownExitCode } from '../../events/unfinished.ts';
import type { NewAction, NewObservation } from '../../events/vocabulary/vocabulary.ts';
import { commandIn, textField } from './callFields.ts';
import type { Params } from './peer.ts';
import { type ToolCall, terminalText } from './toolCall.ts';

export type Risk = 'low' | 'medium' | 'high';

/** Existing clients expect these numbers. */
const riskNumbers: Readonly<Record<Risk, 0 | 1 | 2>> = { low: 0, medium: 1, high: 2 };

/** Whether the call waits for approval or was allowed without a request. */
export interface CallConfirmation {
  readonly state: 'awaiting_confirmation' | 'confirmed';
  readonly risk: Risk;
}

function commandOf({ input, title }: ToolCall): string {
  return commandIn(input) ?? title.replaceAll('`', '');
}

/** The name of the action with the fields that identify its target, such as the path. */
export type Target =
  | { readonly action: 'run'; readonly about: { readonly command: string } }
  | { readonly action: 'edit'; readonly about: { readonly path: string; readonly operation: Operation } }
  | { readonly action: 'read'; readonly about: { readonly path: string } }
  | { readonly action: 'browse'; readonly about: { readonly url: string } }
  | {
      readonly action: 'call_tool_mcp';
      readonly about: { readonly name: string; readonly kind?: string; readonly arguments: unknown };
    };

function operationOf(kind: string): Operation | undefined {
  return operations.find((operation) => operation === kind);
}

export function targetOf(call: ToolCall): Target {
  const { kind, path, title, input, mcpTool } = call;
  if (mcpTool !== undefined)
    return { action: 'call_tool_mcp', about: { name: mcpTool, arguments: input ?? {} } };
  if (kind === 'execute') return { action: 'run', about: { command: commandOf(call) } };
  const operation = operationOf(kind);
  if (operation !== undefined) return { action: 'edit', about: { path: path ?? title, operation } };
  if (kind === 'read') return { action: 'read', about: { path: path ?? title } };
  const url = kind === 'fetch' ? textField(input, 'url') : undefined;
  if (url !== undefined) return { action: 'browse', about: { url } };
  // Existing clients know no other action for a tool, and `kind` tells it from those of MCP servers.
  return { action: 'call_tool_mcp', about: { name: title, kind, arguments: input ?? {} } };
}

/** `request` contains what else the agent sent with an approval request, so that the user sees all of it. */
export function toAction(call: ToolCall, confirmation?: CallConfirmation, request: Params = {}): NewAction {
  const approval =
    confirmation === undefined
      ? {}
      : { confirmation_state: confirmation.state, security_risk: riskNumbers[confirmation.risk] };
  const more = {
    ...(call.diff === '' ? {} : { diff: call.diff }),
    thought: '',
    ...approval,
    ...(Object.keys(request).length === 0 ? {} : { request: { ...request } }),
  };
  const head = { source: 'agent', message: call.title, tool_call_id: call.id } as const;
  const target = targetOf(call);
  switch (target.action) {
    case 'run':
      return { ...head, action: 'run', args: { ...target.about, ...more } };
    case 'edit':
      return { ...head, action: 'edit', args: { ...target.about, ...more } };
    case 'read':
      return { ...head, action: 'read', args: { ...target.about, ...more } };
    case 'browse':
      return { ...head, action: 'browse', args: { ...target.about, ...more } };
    case 'call_tool_mcp':
      return { ...head, action: 'call_tool_mcp', args: { ...target.about, ...more } };
  }
}

function resultOf(call: ToolCall, outcome: Outcome) {
  const target = targetOf(call);
  switch (target.action) {
    case 'run': {
      const exit_code = call.exitCode ?? (outcome === 'completed' ? 0 : unknownExitCode);
      return { observation: 'run', extras: { ...target.about, metadata: { exit_code }, outcome } } as const;
    }
    case 'edit': {
      const existed = call.existed === undefined ? {} : { prev_exist: call.existed };
      return {
        observation: 'edit',
        extras: { ...target.about, ...existed, diff: call.diff, outcome },
      } as const;
    }
    case 'read':
      return { observation: 'read', extras: { ...target.about, outcome } } as const;
    case 'browse':
      return { observation: 'browse', extras: { ...target.about, outcome } } as const;
    case 'call_tool_mcp':
      return { observation: 'mcp', extras: { ...target.about, outcome } } as const;
  }
}

/** The outcome is `unfinished` if the turn ended before the call. */
export function toObservation(call: ToolCall, outcome: Outcome): NewObservation {
  const text = [call.diff, call.output || terminalText(call)].filter((part) => part !== '').join('\n');
  return {
    source: 'agent',
    message: '',
    ...resultOf(call, outcome),
    content: text === '' && outcome === 'unfinished' ? unfinishedContent : text,
    tool_call_id: call.id,
  };
}

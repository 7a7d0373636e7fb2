// Converts the actions and observations of tools to tool calls of ACP.
import type { ToolCall, ToolCallContent, ToolCallUpdate, ToolKind } from '@agentclientprotocol/sdk';
import type { ParleyEvent } from '../client/parley.ts';
import type { Paths } from './clientFolders.ts';
import { type ShownDiff, showDiff } from './diffBlocks.ts';

type ActionOf<Each> = Each extends { readonly type: `action.${string}`; readonly tool_call_id: string }
  ? Each
  : never;
type ObservationOf<Each> = Each extends {
  readonly type: `observation.${string}`;
  readonly tool_call_id: string;
}
  ? Each
  : never;

export type ToolAction = ActionOf<ParleyEvent>;
export type ToolObservation = ObservationOf<ParleyEvent>;

const fileKinds: Readonly<Record<string, ToolKind>> = { delete: 'delete', move: 'move' };
const fileVerbs: Readonly<Record<string, string>> = { delete: 'Delete', move: 'Move' };
const toolKinds: ReadonlySet<string> = new Set([
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'fetch',
]);

/** Events in older and imported logs may have no id of their call. */
export function callIdOf({
  id,
  tool_call_id: call,
}: {
  readonly id: number;
  readonly tool_call_id: string;
}): string {
  return call === '' ? `event-${id}` : call;
}

export function isToolAction(event: ParleyEvent): event is ToolAction {
  return event.type.startsWith('action.') && 'tool_call_id' in event && event.tool_call_id !== undefined;
}

export function isToolObservation(event: ParleyEvent): event is ToolObservation {
  return event.type.startsWith('observation.') && 'tool_call_id' in event && event.tool_call_id !== undefined;
}

function textBlocks(text: string): ToolCallContent[] {
  return text === '' ? [] : [{ type: 'content', content: { type: 'text', text } }];
}

/** More files are counted. */
const namedFilesMax = 5;

/** All files that a call changes, so that nobody approves more than is shown. */
function fileList(paths: readonly string[]): string {
  const more = paths.length - namedFilesMax;
  const named = paths.slice(0, namedFilesMax).join(', ');
  return more <= 0 ? named : `${named} and ${more} more`;
}

interface Description extends Pick<ToolCall, 'title'> {
  readonly kind: ToolKind;
  readonly diff?: ShownDiff;
  readonly path?: string;
}

function describe(event: ToolAction, paths: Paths): Description {
  switch (event.type) {
    case 'action.run':
      return { title: event.args.command, kind: 'execute' };
    case 'action.edit': {
      const { operation, diff: text = '' } = event.args;
      const diff = showDiff(paths.toClient(event.args.path), text, paths.toClient);
      const verb = fileVerbs[operation] ?? 'Edit';
      return { title: `${verb} ${fileList(diff.paths)}`, kind: fileKinds[operation] ?? 'edit', diff };
    }
    case 'action.read': {
      const path = paths.toClient(event.args.path);
      return { title: `Read ${path}`, kind: 'read', path };
    }
    case 'action.browse':
      return { title: `Fetch ${event.args.url}`, kind: 'fetch' };
    case 'action.call_tool_mcp': {
      const { name, kind = '' } = event.args;
      return { title: name, kind: toolKinds.has(kind) ? (kind as ToolKind) : 'other' };
    }
  }
}

/** `rawInput` includes everything that the agent reported about a call that needs approval, so that clients can show it. */
export function toToolCall(event: ToolAction, paths: Paths): ToolCall {
  const {
    thought: _,
    confirmation_state: state,
    security_risk: _risk,
    diff: text = '',
    ...input
  } = event.args;
  const { title, kind, path = '', diff = showDiff(path, text, paths.toClient) } = describe(event, paths);
  const isWaiting = state === 'awaiting_confirmation';
  return {
    toolCallId: callIdOf(event),
    title: title === '' ? 'Tool call' : title,
    kind,
    status: isWaiting ? 'pending' : 'in_progress',
    content: diff.content,
    locations: diff.paths.filter(paths.isOfClient).map((file) => ({ path: file })),
    rawInput: input,
  };
}

/** The end of a call, with its output. */
export function toToolCallEnd(event: ToolObservation, paths: Paths): ToolCallUpdate {
  const toolCallId = callIdOf(event);
  if (event.type === 'observation.user_rejected')
    return { toolCallId, status: 'failed', content: textBlocks(event.content || event.message) };
  const isDone = event.extras.outcome === 'completed';
  const { content: diff } =
    event.type === 'observation.edit'
      ? showDiff(paths.toClient(event.extras.path), event.extras.diff, paths.toClient)
      : { content: [] };
  const exit = event.type === 'observation.run' ? event.extras.metadata : undefined;
  return {
    toolCallId,
    status: isDone ? 'completed' : 'failed',
    content: diff.length > 0 ? diff : textBlocks(event.content),
    rawOutput: { output: event.content, ...exit },
  };
}

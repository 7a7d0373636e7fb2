// Converts the action and the observation of a tool call to what the timeline shows.
import { approvalText, type ParleyEvent } from '../../../../src/client/parley.ts';
import { visibleLine, visibleText } from '../../components/visibleText.ts';
import { shortPath } from '../content/paths.ts';
import type { ApprovalRequest, Call } from '../items.ts';

type Of<Type extends ParleyEvent['type']> = Extract<ParleyEvent, { readonly type: Type }>;
type CallAction = Of<'action.run' | 'action.edit' | 'action.read' | 'action.browse' | 'action.call_tool_mcp'>;
type CallResult = Of<
  | 'observation.run'
  | 'observation.edit'
  | 'observation.read'
  | 'observation.browse'
  | 'observation.mcp'
  | 'observation.user_rejected'
>;
export type CallEvent = CallAction | CallResult;

const tools: Readonly<Record<CallEvent['type'], Call['tool']>> = {
  'action.run': 'run',
  'action.edit': 'edit',
  'action.read': 'read',
  'action.browse': 'browse',
  'action.call_tool_mcp': 'tool',
  'observation.run': 'run',
  'observation.edit': 'edit',
  'observation.read': 'read',
  'observation.browse': 'browse',
  'observation.mcp': 'tool',
  // Unused: the event ends a call whose tool is known.
  'observation.user_rejected': 'tool',
};

export function isCallEvent(event: ParleyEvent): event is CallEvent {
  return Object.hasOwn(tools, event.type);
}

export function isResult(event: CallEvent): event is CallResult {
  return 'observation' in event;
}

/** The command, path, URL or tool name. */
function subjectOf(event: CallEvent): string {
  switch (event.type) {
    case 'action.run':
      return visibleText(event.args.command);
    case 'observation.run':
      return visibleText(event.extras.command);
    case 'action.edit':
    case 'action.read':
      return visibleLine(shortPath(event.args.path));
    case 'observation.edit':
    case 'observation.read':
      return visibleLine(shortPath(event.extras.path));
    case 'action.browse':
      return visibleLine(event.args.url);
    case 'observation.browse':
      return visibleLine(event.extras.url);
    case 'action.call_tool_mcp':
      return visibleLine(event.args.name);
    case 'observation.mcp':
      return visibleLine(event.extras.name);
    case 'observation.user_rejected':
      return '';
  }
}

function inputOf(event: CallEvent): string {
  const input =
    event.type === 'action.call_tool_mcp'
      ? event.args.arguments
      : event.type === 'observation.mcp'
        ? event.extras.arguments
        : undefined;
  const hasInput = typeof input === 'object' && input !== null && Object.keys(input).length > 0;
  return hasInput ? visibleText(JSON.stringify(input, null, 2)) : '';
}

/** Some agents report thoughts as tool calls. */
export function isThought(event: CallEvent): boolean {
  if (event.type === 'action.call_tool_mcp') return event.args.kind === 'think';
  return event.type === 'observation.mcp' && event.extras.kind === 'think';
}

/** An unknown risk counts as the highest. */
const unknownRisk = 2;

export function approvalOf(event: CallEvent): ApprovalRequest | undefined {
  if (isResult(event) || event.args.confirmation_state !== 'awaiting_confirmation') return undefined;
  const { security_risk: risk = unknownRisk } = event.args;
  return { event: event.id, summary: subjectOf(event) || visibleText(event.message), risk, answer: 'open' };
}

export function beginCall(event: CallEvent): Call {
  const { type, timestamp, message } = event;
  return {
    tool: tools[type],
    subject: subjectOf(event),
    title: visibleText(message),
    operation: type === 'action.edit' ? event.args.operation : '',
    input: inputOf(event),
    diff: isResult(event) ? '' : (event.args.diff ?? ''),
    approvalDetails: visibleText(approvalText(event)),
    outcome: undefined,
    since: timestamp === '' ? undefined : timestamp,
    output: '',
    exitCode: undefined,
    createsFile: false,
    approval: approvalOf(event),
  };
}

/** Earlier versions wrote the diff of an edit only at the start of its content. */
function splitDiff(content: string): { diff: string; rest: string } {
  if (!content.startsWith('--- ')) return { diff: '', rest: content };
  const lines = content.split('\n');
  let end = 2;
  while (end < lines.length && /^[-+ @\\]/.test(lines[end] ?? '')) end++;
  return { diff: lines.slice(0, end).join('\n'), rest: lines.slice(end).join('\n').trim() };
}

function editOf({ content, extras }: Of<'observation.edit'>): Partial<Call> {
  const { diff, rest } = splitDiff(content);
  const known = diff === '' ? extras.diff : diff;
  return {
    ...(known === '' ? {} : { diff: known }),
    operation: extras.operation,
    output: rest,
    createsFile: extras.prev_exist === false,
  };
}

export function endCall(call: Call, event: CallResult): Call {
  if (event.type === 'observation.user_rejected') return { ...call, outcome: 'failed' };
  return {
    ...call,
    subject: call.subject === '' ? subjectOf(event) : call.subject,
    input: call.input === '' ? inputOf(event) : call.input,
    output: event.content,
    exitCode: event.type === 'observation.run' ? event.extras.metadata.exit_code : undefined,
    outcome: event.extras.outcome,
    ...(event.type === 'observation.edit' ? editOf(event) : {}),
  };
}

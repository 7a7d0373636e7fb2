// Calls of tools: from the action that begins one and the observation that ends it to what is shown.
import { approvalText, type ParleyEvent } from '../../../src/client/parley.ts';
import { visibleLine, visibleText } from '../parts/visibleText.ts';
import type { Call, Outcome, Question } from './items.ts';
import { shortPath } from './paths.ts';

type Members = Readonly<Record<string, unknown>>;

const tools: Readonly<Record<string, Call['tool']>> = {
  run: 'run',
  edit: 'edit',
  read: 'read',
  browse: 'browse',
  call_tool_mcp: 'tool',
  call_tool: 'tool',
  mcp: 'tool',
};
const subjects = ['command', 'path', 'url', 'name'];
const outcomes: readonly string[] = ['completed', 'failed', 'unfinished'];

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Undefined where the event is none of a tool. */
export function toolOf({ action, observation }: ParleyEvent): Call['tool'] | undefined {
  const name = action ?? observation ?? '';
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

function subjectOf(members: Members): string {
  const name = subjects.find((subject) => typeof members[subject] === 'string');
  const text = name === undefined ? '' : textOf(members[name]);
  if (name === 'command') return visibleText(text);
  return visibleLine(name === 'path' ? shortPath(text) : text);
}

function inputOf(members: Members): string {
  const given = members['arguments'];
  const some = typeof given === 'object' && given !== null && Object.keys(given).length > 0;
  return some ? visibleText(JSON.stringify(given, null, 2)) : '';
}

export function questionOf({ id, args = {}, message }: ParleyEvent): Question | undefined {
  const members = args as Members;
  if (members['confirmation_state'] !== 'awaiting_confirmation') return undefined;
  const risk = Number(members['security_risk'] ?? 2);
  return { event: id, about: subjectOf(members) || visibleText(message), risk, answer: 'open' };
}

/** The call as its action tells it. */
export function beginCall(event: ParleyEvent, tool: Call['tool']): Call {
  const args = (event.args ?? {}) as Members;
  return {
    tool,
    subject: subjectOf(args),
    title: visibleText(event.message),
    operation: textOf(args['operation']),
    input: inputOf(args),
    diff: textOf(args['diff']),
    request: visibleText(approvalText(event)),
    outcome: undefined,
    since: event.timestamp,
    output: '',
    exitCode: undefined,
    createsFile: false,
    question: questionOf(event),
  };
}

/** A diff that stands at the start of what came of an edit, and what is said after it. */
function splitDiff(content: string): { diff: string; rest: string } {
  if (!content.startsWith('--- ')) return { diff: '', rest: content };
  const lines = content.split('\n');
  let end = 2;
  while (end < lines.length && /^[-+ @\\]/.test(lines[end] ?? '')) end++;
  return { diff: lines.slice(0, end).join('\n'), rest: lines.slice(end).join('\n').trim() };
}

/** The call with what came of it. */
export function endCall(call: Call, event: ParleyEvent): Call {
  const extras = (event.extras ?? {}) as Members;
  const content = event.content ?? '';
  const { diff, rest } = call.tool === 'edit' ? splitDiff(content) : { diff: '', rest: content };
  const exitCode = (extras['metadata'] as Members | undefined)?.['exit_code'];
  const outcome = textOf(extras['outcome']);
  return {
    ...call,
    subject: call.subject === '' ? subjectOf(extras) : call.subject,
    operation: call.operation === '' ? textOf(extras['operation']) : call.operation,
    input: call.input === '' ? inputOf(extras) : call.input,
    diff: diff === '' ? call.diff : diff,
    output: rest,
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    createsFile: call.tool === 'edit' && extras['prev_exist'] === false,
    outcome: outcomes.includes(outcome) ? (outcome as Outcome) : 'completed',
  };
}

// What one event of a log was, as a line of a history: what was said, whole, and what was done, in short.

import { type Members, membersOf } from '../../text/foreignJson.ts';
import { jsonOf } from '../../text/foreignText.ts';

export interface HistoryLine {
  readonly text: string;
  /** Something that was done, or what came of it. */
  readonly isStep: boolean;
}

const stepCharsMax = 400;

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

/** On one line, so that nothing in it looks like another; of a long one its beginning and its end. */
function short(text: string): string {
  // More than enough to find as many characters in.
  const ends =
    text.length <= 8 * stepCharsMax
      ? text
      : `${text.slice(0, 4 * stepCharsMax)} … ${text.slice(-4 * stepCharsMax)}`;
  const line = ends.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  if (line.length <= stepCharsMax) return line;
  return `${line.slice(0, stepCharsMax / 2)} … ${line.slice(-stepCharsMax / 2)}`.toWellFormed();
}

function callOf({ name, arguments: given }: Members): string {
  return `called: ${textOf(name)} ${jsonOf(given ?? {})}`;
}

const fileVerbs = new Map([
  ['delete', 'deleted'],
  ['move', 'moved'],
]);

/** By action; also those of logs that other programs wrote. */
const deeds: Readonly<Record<string, (args: Members) => string>> = {
  run: ({ command }) => `ran: ${textOf(command)}`,
  run_ipython: ({ code }) => `ran in Python: ${textOf(code)}`,
  read: ({ path }) => `read: ${textOf(path)}`,
  write: ({ path }) => `wrote: ${textOf(path)}`,
  edit: ({ path, operation }) => `${fileVerbs.get(textOf(operation)) ?? 'edited'}: ${textOf(path)}`,
  browse: ({ url }) => `opened: ${textOf(url)}`,
  browse_interactive: ({ browser_actions: actions }) => `used the browser: ${textOf(actions)}`,
  call_tool_mcp: callOf,
  call_tool: callOf,
  think: ({ thought }) => `thought: ${textOf(thought)}`,
};

const results: ReadonlySet<string> = new Set([
  'run',
  'run_ipython',
  'read',
  'write',
  'edit',
  'browse',
  'mcp',
  'call_tool',
]);

const outcomes = new Map([
  ['failed', 'It failed'],
  ['unfinished', 'It did not end'],
]);

function resultLine(observation: string, event: Members): HistoryLine | undefined {
  const content = short(textOf(event['content']));
  // Faults of a run are no steps of the agent; of those that were replayed nobody knows.
  const failed = observation === 'error' && event['replayed'] === true;
  if (!failed && !results.has(observation)) return undefined;
  const { outcome, metadata } = membersOf(event['extras']);
  const { exit_code: code } = membersOf(metadata);
  const exited = typeof code === 'number' && code > 0 ? ` (exit code ${code})` : '';
  const verb = failed ? 'It failed' : (outcomes.get(textOf(outcome)) ?? 'It gave');
  return { text: content === '' ? `${verb}${exited}.` : `${verb}${exited}: ${content}`, isStep: true };
}

const speakers = new Map([
  ['user', 'User'],
  ['agent', 'You'],
]);

function deedLine(action: string, event: Members): HistoryLine | undefined {
  const source = textOf(event['source']);
  const args = membersOf(event['args']);
  if (action === 'message' || action === 'finish') {
    const { content, final_thought: last, image_urls: images } = args;
    const shown = Array.isArray(images) && images.length > 0 ? '[images]' : '';
    const said = textOf(action === 'message' ? content : last) || shown;
    const speaker = speakers.get(source);
    return speaker === undefined || said === '' ? undefined : { text: `${speaker}: ${said}`, isStep: false };
  }
  const deed = Object.hasOwn(deeds, action) ? deeds[action] : undefined;
  if (deed === undefined) return undefined;
  const thought = action === 'think' ? '' : short(textOf(args['thought']));
  const done = `${source === 'user' ? 'The user' : 'You'} ${short(deed(args))}`;
  return { text: thought === '' ? done : `You thought: ${thought}\n${done}`, isStep: true };
}

/** Undefined where there is nothing to tell. Nothing in a line can end what it stands in. */
export function toHistoryLine(json: string): HistoryLine | undefined {
  const event = membersOf(JSON.parse(json));
  const { action, observation } = event;
  const line = typeof action === 'string' ? deedLine(action, event) : resultLine(textOf(observation), event);
  return line && { ...line, text: line.text.replaceAll(/<(?=\/?history>)/gi, '‹') };
}

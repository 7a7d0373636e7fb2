// What one event of a log was, as a line of a history: what was said, whole, and what was done, in short.

import { type DecodedEvent, decodeEvent, type UnknownEvent } from '../../events/decoded.ts';
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

const fileVerbs = { edit: 'edited', delete: 'deleted', move: 'moved' } as const;

/** Actions of logs that other programs wrote. */
const foreignDeeds: Readonly<Record<string, readonly [verb: string, field: string]>> = {
  run_ipython: ['ran in Python', 'code'],
  write: ['wrote', 'path'],
  browse_interactive: ['used the browser', 'browser_actions'],
};

function foreignDeed({ action = '', args }: UnknownEvent): string | undefined {
  const [verb, field = ''] = (Object.hasOwn(foreignDeeds, action) ? foreignDeeds[action] : undefined) ?? [];
  return verb === undefined ? undefined : `${verb}: ${textOf(args[field])}`;
}

/** What somebody did; undefined where that is not worth a line. */
function deedOf(event: DecodedEvent): string | undefined {
  switch (event.type) {
    case 'action.run':
      return `ran: ${event.args.command}`;
    case 'action.read':
      return `read: ${event.args.path}`;
    case 'action.edit':
      return `${fileVerbs[event.args.operation]}: ${event.args.path}`;
    case 'action.browse':
      return `opened: ${event.args.url}`;
    case 'action.call_tool_mcp':
      return `called: ${event.args.name} ${jsonOf(event.args.arguments ?? {})}`;
    case 'action.think':
      return `thought: ${event.args.thought}`;
    case 'unknown':
      return foreignDeed(event);
    default:
      return undefined;
  }
}

const outcomes = { completed: 'It gave', failed: 'It failed', unfinished: 'It did not end' } as const;

const foreignResults: ReadonlySet<string> = new Set(['run_ipython', 'write']);

/** How a result begins; undefined for events that are not the result of an action. */
function verdictOf(event: DecodedEvent): string | undefined {
  switch (event.type) {
    case 'observation.run':
    case 'observation.read':
    case 'observation.edit':
    case 'observation.browse':
    case 'observation.mcp':
      return outcomes[event.extras.outcome];
    case 'observation.user_rejected':
      return 'The user rejected it';
    case 'observation.error':
      // Errors of a run are no steps of the agent; of those that were imported nobody knows.
      return event.replayed === true ? outcomes.failed : undefined;
    case 'unknown':
      return foreignResults.has(event.observation ?? '') ? outcomes.completed : undefined;
    default:
      return undefined;
  }
}

function resultLine(event: DecodedEvent): HistoryLine | undefined {
  const verdict = verdictOf(event);
  if (verdict === undefined || !('content' in event)) return undefined;
  const content = event.type === 'observation.user_rejected' ? '' : short(event.content);
  const code = event.type === 'observation.run' ? (event.extras.metadata.exit_code ?? 0) : 0;
  const exited = code > 0 ? ` (exit code ${code})` : '';
  return { text: content === '' ? `${verdict}${exited}.` : `${verdict}${exited}: ${content}`, isStep: true };
}

const speakers = { user: 'User', agent: 'You', environment: undefined } as const;

/** What was said; undefined for events that are not words. */
function wordsOf(event: DecodedEvent): string | undefined {
  if (event.type === 'action.message') {
    const { content, image_urls: images, file_urls: files } = event.args;
    const words = content || (images.length > 0 ? '[images]' : '');
    return files.length === 0 ? words : `${words} [files: ${short(files.join(', '))}]`.trim();
  }
  return event.type === 'unknown' && event.action === 'finish'
    ? textOf(event.args['final_thought'])
    : undefined;
}

function speechLine({ source }: DecodedEvent, words: string): HistoryLine | undefined {
  const speaker = speakers[source];
  return speaker === undefined || words === '' ? undefined : { text: `${speaker}: ${words}`, isStep: false };
}

function thoughtOf(event: DecodedEvent): string {
  if (event.type === 'action.think' || !('args' in event)) return '';
  const { thought } = event.args as { readonly thought?: unknown };
  return short(textOf(thought));
}

function deedLine(event: DecodedEvent, deed: string): HistoryLine {
  const thought = thoughtOf(event);
  const done = `${event.source === 'user' ? 'The user' : 'You'} ${short(deed)}`;
  return { text: thought === '' ? done : `You thought: ${thought}\n${done}`, isStep: true };
}

const cancelledLine: HistoryLine = {
  text: 'The user cancelled this: what you had not finished at this point is no longer wanted, unless the user asks for it again.',
  isStep: false,
};

function lineOf(event: DecodedEvent): HistoryLine | undefined {
  if (event.type === 'action.change_agent_state' && event.args.agent_state === 'awaiting_user_input')
    return cancelledLine;
  const words = wordsOf(event);
  if (words !== undefined) return speechLine(event, words);
  const deed = deedOf(event);
  return deed === undefined ? resultLine(event) : deedLine(event, deed);
}

/** Undefined where there is nothing to tell. Nothing in a line can end what it stands in. */
export function toHistoryLine(json: string): HistoryLine | undefined {
  const line = lineOf(decodeEvent(JSON.parse(json)));
  return line && { ...line, text: line.text.replaceAll(/<(?=\/?history>)/gi, '‹') };
}

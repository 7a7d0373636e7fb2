// Formats events for people in a terminal.
import { approvalText, type ParleyEvent } from '../../client/parley.ts';
import { commandName } from '../../process/program.ts';
import { englishNotes, foldBlanks, foldDiffBlanks } from '../../text/foldBlanks.ts';
import { plainLine, plainText, shellWord, shorten, withoutColours } from '../../text/plainText.ts';
import type { Style } from './output.ts';

interface TimelineOptions {
  readonly style: Style;
  /** The limit of one output. The middle of a longer one is left out. */
  readonly linesMax: number;
  /** The limit of the input of a tool. */
  readonly inputCharsMax?: number;
  /** Folds empty lines and wide gaps, which could push something out of sight. */
  readonly isFolded?: boolean;
}

const linesDefault = 24;
const inputCharsDefault = 200;
const outcomeCharsMax = 500;

/** Returns how many lines of one output are shown. */
export function linesMaxOf(full: boolean): number {
  return full ? Number.POSITIVE_INFINITY : linesDefault;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** Spells out control characters and leaves out the middle of long text. */
function block(text: string, { linesMax, style }: TimelineOptions): string {
  const lines = plainText(text).trimEnd().split('\n');
  if (lines.length <= linesMax) return lines.join('\n');
  const half = Math.floor(linesMax / 2);
  const left = lines.length - 2 * half;
  return [...lines.slice(0, half), style('dim', `… ${left} lines …`), ...lines.slice(-half)].join('\n');
}

/** Colours removed and added lines. */
export function colourDiff(diff: string, style: Style): string {
  const colours = { '+': 'green', '-': 'red', '@': 'cyan' } as const;
  return diff
    .split('\n')
    .map((line) => {
      if (/^(diff |index |---|\+\+\+|new file|deleted file)/.test(line)) return style('bold', line);
      const colour = colours[line[0] as keyof typeof colours];
      return colour === undefined ? line : style(colour, line);
    })
    .join('\n');
}

function inputText(given: unknown, charsMax: number): string {
  const text = plainLine(JSON.stringify(given ?? {}));
  return text === '{}' ? '' : ` ${shorten(text, charsMax)}`;
}

/** Describes a tool call in one or more lines. Returns undefined if the event is not an action of a tool. */
function describeUse(event: ParleyEvent, options: TimelineOptions): string | undefined {
  const { style, inputCharsMax = inputCharsDefault, isFolded = false } = options;
  switch (event.type) {
    case 'action.run': {
      const command = plainText(event.args.command);
      return `${style('cyan', '$')} ${style('bold', isFolded ? foldBlanks(command, englishNotes) : command)}`;
    }
    case 'action.edit': {
      const { path, operation, diff: reported = '' } = event.args;
      const diff = isFolded ? foldDiffBlanks(reported, englishNotes) : reported;
      const head = style('cyan', `± ${operation} ${plainLine(path)}`);
      return diff === '' ? head : `${head}\n${indent(colourDiff(block(diff, options), style))}`;
    }
    case 'action.read':
      return style('dim', `· read ${plainLine(event.args.path)}`);
    case 'action.browse':
      return style('dim', `· open ${plainLine(event.args.url)}`);
    case 'action.call_tool_mcp': {
      const { name, arguments: given } = event.args;
      return style('cyan', `· ${plainLine(name)}`) + style('dim', inputText(given, inputCharsMax));
    }
    default:
      return undefined;
  }
}

const planMarks = { done: '✓', in_progress: '▸', todo: '·' } as const;

function describePlan(
  { args }: Extract<ParleyEvent, { type: 'action.task_tracking' }>,
  style: Style,
): string {
  const lines = args.task_list.map(({ status, title }) => {
    const line = `${planMarks[status]} ${plainLine(title)}`;
    return status === 'done' ? style('dim', line) : line;
  });
  return `${style('bold', 'Plan')}\n${indent(lines.join('\n'))}\n`;
}

/** What a message of the agent begins with. */
export function agentPrefix(style: Style): string {
  return `${style(['bold', 'green'], 'Agent:')} `;
}

function describeMessage(
  { source, args }: Extract<ParleyEvent, { type: 'action.message' }>,
  style: Style,
): string {
  const text = plainText(args.content).trim();
  const images = args.image_urls.length;
  const seen = images === 0 ? '' : style('dim', ` (${images} ${images === 1 ? 'image' : 'images'})`);
  if (source === 'user') return `\n${style(['bold', 'blue'], 'You:')} ${text}${seen}\n\n`;
  return text === '' ? '' : `${agentPrefix(style)}${text}\n`;
}

/** Returns text only if the call did not succeed, because its action was shown already. */
function describeOutcome(outcome: string, content: string, style: Style): string {
  if (outcome === 'completed') return '';
  const why = plainLine(content) || `Outcome: ${outcome}`;
  return `${indent(style('red', shorten(why, outcomeCharsMax)))}\n`;
}

function describeOutput(
  { content, extras }: Extract<ParleyEvent, { type: 'observation.run' }>,
  options: TimelineOptions,
): string {
  const { exit_code: code = 0 } = extras.metadata;
  const output = block(withoutColours(content), options);
  const end = code === 0 ? '' : `${indent(options.style('red', `exit code ${code}`))}\n`;
  return `${output === '' ? '' : `${indent(output)}\n`}${end}`;
}

/** Returns empty text if the agent does not report both numbers. */
function describeContext(
  { extras }: Extract<ParleyEvent, { type: 'observation.usage' }>,
  style: Style,
): string {
  const { used, size } = extras;
  if (used === null || size === null || size <= 0) return '';
  const [part, all] = [used, size].map((tokens) => Math.round(tokens).toLocaleString('en-US'));
  const share = Math.round((used / size) * 100);
  return `${style('dim', `Context: ${part} of ${all} tokens (${share} %)`)}\n`;
}

function describeObservation(event: ParleyEvent, options: TimelineOptions): string {
  const { style } = options;
  switch (event.type) {
    case 'observation.run':
      return describeOutput(event, options);
    case 'observation.edit':
    case 'observation.read':
    case 'observation.browse':
    case 'observation.mcp':
      return describeOutcome(event.extras.outcome, event.content, style);
    case 'observation.notice':
    case 'observation.workspace_removed':
      return `${style('yellow', `! ${plainText(event.content)}`)}\n`;
    case 'observation.usage':
      return describeContext(event, style);
    case 'observation.error':
      return `${style('red', `✗ ${block(event.content, options)}`)}\n`;
    default:
      return '';
  }
}

/** Returns empty text for events that people do not need. */
function describeEvent(event: ParleyEvent, options: TimelineOptions): string {
  const { style } = options;
  switch (event.type) {
    case 'action.message':
      return describeMessage(event, style);
    case 'action.think':
      return `${style(['dim', 'italic'], block(event.args.thought, options))}\n`;
    case 'action.task_tracking':
      return describePlan(event, style);
    case 'action.change_agent_state':
      return `${style(['bold', 'blue'], 'You:')} ${plainLine(event.message)}\n`;
    default: {
      const used = describeUse(event, options);
      return used === undefined ? describeObservation(event, options) : `${used}\n`;
    }
  }
}

/** The limit of remembered edits that have begun but not ended. */
const openEditsMax = 100;

/** Earlier versions wrote the diff of an edit only at the start of its content. */
function diffOf({ content, extras }: Extract<ParleyEvent, { type: 'observation.edit' }>): string {
  return content.startsWith('--- ') ? content : extras.diff;
}

/** Returns a function that formats the events of a log, in order. The text is empty for events that people do not need. */
export function createTimeline(options: TimelineOptions): (event: ParleyEvent) => string {
  /** Calls whose diff was shown when they began. The others show it when they end. */
  const shown = new Set<string>();
  return (event) => {
    const text = describeEvent(event, options);
    if (event.type === 'action.edit' && (event.args.diff ?? '') !== '' && shown.size < openEditsMax)
      shown.add(event.tool_call_id);
    if (event.type !== 'observation.edit' || shown.delete(event.tool_call_id)) return text;
    const diff = diffOf(event);
    return diff === '' ? text : `${indent(colourDiff(block(diff, options), options.style))}\n${text}`;
  };
}

/** Describes an approval request in full, because parts that are not shown would be executed, too. */
function describeApprovalRequest(event: ParleyEvent, style: Style): string {
  const whole = {
    style,
    linesMax: Number.POSITIVE_INFINITY,
    inputCharsMax: Number.POSITIVE_INFINITY,
    isFolded: true,
  };
  const use = describeUse(event, whole) ?? foldBlanks(plainText(event.message), englishNotes);
  const more = foldBlanks(plainText(approvalText(event)), englishNotes);
  return more === '' ? use : `${use}\n${indent(more)}`;
}

/** Shows an approval request, if it is known, and the command that answers this request and no later one. */
export function approvalPrompt(id: string, question: ParleyEvent | undefined, style: Style): string {
  // The request is indented deeper than the command below, so that no line of it looks like that command.
  const what = question === undefined ? '' : `\n${indent(indent(describeApprovalRequest(question, style)))}`;
  const heading = style(['bold', 'yellow'], 'The agent needs your approval:');
  const which = question === undefined || question.id < 0 ? '' : ` --question ${question.id}`;
  return `\n${heading}${what}\n  ${commandName} confirm ${shellWord(id)} allow${which}      or: always, reject\n`;
}

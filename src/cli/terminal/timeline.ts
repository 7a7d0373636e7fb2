// Events as people read them in a terminal.
import { approvalText, type ParleyEvent } from '../../client/parley.ts';
import { commandName } from '../../process/program.ts';
import type { Style } from './output.ts';
import { plainLine, plainText, shellWord, shorten, withoutColours } from './plainText.ts';

interface TimelineOptions {
  readonly style: Style;
  /** Of one output; the middle of what is longer is left out. */
  readonly linesMax: number;
  /** Of the input of a tool. */
  readonly inputCharsMax?: number;
}

type Members = Readonly<Record<string, unknown>>;
type Teller = (event: ParleyEvent, options: TimelineOptions) => string | undefined;

const linesUsual = 24;
const inputCharsUsual = 200;
const outcomeCharsMax = 500;

/** How much of one output is shown. */
export function linesMaxOf(full: boolean): number {
  return full ? Number.POSITIVE_INFINITY : linesUsual;
}

/** A log may hold anything, for it may have come in with `replay_json`. */
const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** With what a terminal would obey spelled out, and without the middle of what is long. */
function block(text: string, { linesMax, style }: TimelineOptions): string {
  const lines = plainText(text).trimEnd().split('\n');
  if (lines.length <= linesMax) return lines.join('\n');
  const half = Math.floor(linesMax / 2);
  const left = lines.length - 2 * half;
  return [...lines.slice(0, half), style('dim', `… ${left} lines …`), ...lines.slice(-half)].join('\n');
}

/** Colours for what was taken away and added. */
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

function inputText(args: Members, charsMax: number): string {
  const text = plainLine(JSON.stringify(args['arguments'] ?? {}));
  return text === '{}' ? '' : ` ${shorten(text, charsMax)}`;
}

/** What a tool is used for, in a line or more. */
function describeUse(event: ParleyEvent, options: TimelineOptions): string | undefined {
  const { style, inputCharsMax = inputCharsUsual } = options;
  const args: Members = event.args ?? {};
  const path = plainLine(textOf(args['path']));
  switch (event.action) {
    case 'run':
      return `${style('cyan', '$')} ${style('bold', plainText(textOf(args['command'])))}`;
    case 'edit': {
      const diff = textOf(args['diff']);
      const head = style('cyan', `± ${plainLine(textOf(args['operation'])) || 'edit'} ${path}`);
      return diff === '' ? head : `${head}\n${indent(colourDiff(block(diff, options), style))}`;
    }
    case 'read':
      return style('dim', `· read ${path}`);
    case 'browse':
      return style('dim', `· look at ${plainLine(textOf(args['url']))}`);
    case 'call_tool':
    case 'call_tool_mcp':
      return (
        style('cyan', `· ${plainLine(textOf(args['name']))}`) + style('dim', inputText(args, inputCharsMax))
      );
    default:
      return undefined;
  }
}

const tellUse: Teller = (event, options) => {
  const used = describeUse(event, options);
  return used === undefined ? undefined : `${used}\n`;
};

const planMarks: ReadonlyMap<unknown, string> = new Map([
  ['done', '✓'],
  ['in_progress', '▸'],
  ['todo', '·'],
]);

function tellPlan({ args }: ParleyEvent, { style }: TimelineOptions): string {
  const tasks: readonly unknown[] = Array.isArray(args?.['task_list']) ? args['task_list'] : [];
  const lines = tasks.map((task) => {
    const { status, title } = (task ?? {}) as Members;
    const line = `${planMarks.get(status) ?? '·'} ${plainLine(textOf(title))}`;
    return status === 'done' ? style('dim', line) : line;
  });
  return `${style('bold', 'Plan')}\n${indent(lines.join('\n'))}\n`;
}

const actions: ReadonlyMap<string, Teller> = new Map(
  Object.entries<Teller>({
    message: ({ source, args }, { style }) => {
      const text = plainText(textOf(args?.['content'])).trim();
      const images = Array.isArray(args?.['image_urls']) ? args['image_urls'].length : 0;
      const seen = images === 0 ? '' : style('dim', ` (${images} ${images === 1 ? 'image' : 'images'})`);
      if (source === 'user') return `\n${style(['bold', 'blue'], 'You:')} ${text}${seen}\n\n`;
      return text === '' ? '' : `${style(['bold', 'green'], 'Agent:')} ${text}\n`;
    },
    think: ({ args }, { style, ...options }) =>
      `${style(['dim', 'italic'], block(textOf(args?.['thought']), { style, ...options }))}\n`,
    task_tracking: tellPlan,
    change_agent_state: ({ message }, { style }) =>
      `${style(['bold', 'blue'], 'You:')} ${plainLine(textOf(message))}\n`,
    run: tellUse,
    edit: tellUse,
    read: tellUse,
    browse: tellUse,
    call_tool: tellUse,
    call_tool_mcp: tellUse,
  }),
);

/** Where it did not go well; otherwise its beginning has said it. */
function tellOutcome({ content, extras }: ParleyEvent, { style }: TimelineOptions): string {
  if (extras?.['outcome'] !== 'failed' && extras?.['outcome'] !== 'unfinished') return '';
  const why = plainLine(textOf(content)) || `It is ${extras['outcome']}.`;
  return `${indent(style('red', shorten(why, outcomeCharsMax)))}\n`;
}

function exitCodeOf(metadata: unknown): string {
  const { exit_code: code } = (metadata ?? {}) as Members;
  return typeof code === 'number' ? String(code) : plainLine(textOf(code));
}

const observations: ReadonlyMap<string, Teller> = new Map(
  Object.entries<Teller>({
    run: ({ content, extras }, options) => {
      const { style } = options;
      const code = exitCodeOf(extras?.['metadata']);
      const output = block(withoutColours(textOf(content)), options);
      const end = code === '' || code === '0' ? '' : `${indent(style('red', `exit code ${code}`))}\n`;
      return `${output === '' ? '' : `${indent(output)}\n`}${end}`;
    },
    edit: tellOutcome,
    read: tellOutcome,
    browse: tellOutcome,
    call_tool: tellOutcome,
    mcp: tellOutcome,
    notice: ({ content }, { style }) => `${style('yellow', `! ${plainText(textOf(content))}`)}\n`,
    error: ({ content }, options) => `${options.style('red', `✗ ${block(textOf(content), options)}`)}\n`,
    workspace_removed: ({ content }, { style }) => `${style('yellow', `! ${plainText(textOf(content))}`)}\n`,
  }),
);

/** Edits that have begun; more are forgotten. */
const openEditsMax = 100;

/** Gives the text for each event of a log in order; empty for those that say nothing to people. */
export function createTimeline(options: TimelineOptions): (event: ParleyEvent) => string {
  /** Those whose change was told when they began: the others tell it when they end. */
  const told = new Set<string>();
  return (event) => {
    const { action, observation = '', tool_call_id: call = '', args } = event;
    const content = textOf(event.content);
    if (action === 'edit' && textOf(args?.['diff']) !== '' && told.size < openEditsMax) told.add(call);
    const tell = action === undefined ? observations.get(observation) : actions.get(action);
    const text = tell?.(event, options) ?? '';
    const diffIsNew = action === undefined && observation === 'edit' && !told.delete(call);
    if (!diffIsNew || !content.startsWith('--- ')) return text;
    return `${indent(colourDiff(block(content, options), options.style))}\n${text}`;
  };
}

/** What the agent asks permission for, whole: what is not shown would run all the same. */
function describeQuestion(event: ParleyEvent, style: Style): string {
  const whole = { style, linesMax: Number.POSITIVE_INFINITY, inputCharsMax: Number.POSITIVE_INFINITY };
  const use = describeUse(event, whole) ?? plainText(textOf(event.message));
  const more = plainText(approvalText(event));
  return more === '' ? use : `${use}\n${indent(more)}`;
}

/** What it asks, where that is known, and how to answer this question and no later one. */
export function tellQuestion(id: string, question: ParleyEvent | undefined, style: Style): string {
  // Deeper than the line below, which none of its own can then be taken for.
  const what = question === undefined ? '' : `\n${indent(indent(describeQuestion(question, style)))}`;
  const asks = style(['bold', 'yellow'], 'The agent asks for your permission:');
  const which = Number.isSafeInteger(question?.id) ? ` --question ${question?.id}` : '';
  return `\n${asks}${what}\n  ${commandName} confirm ${shellWord(id)} allow${which}      or: always, reject\n`;
}

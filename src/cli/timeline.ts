// Events as people read them in a terminal.
import type { ParleyEvent } from '../client/parley.ts';
import type { Style } from './output.ts';
import { plainLine, plainText } from './plainText.ts';

export interface TimelineOptions {
  readonly style: Style;
  /** Of one output; the middle of what is longer is left out. */
  readonly linesMax: number;
}

type Members = Readonly<Record<string, unknown>>;
type Teller = (event: ParleyEvent, options: TimelineOptions) => string | undefined;

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

/** Without what a terminal would obey, and without the middle of what is long. */
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

function inputText(args: Members): string {
  const text = plainLine(JSON.stringify(args['arguments'] ?? {}));
  return text === '{}' ? '' : ` ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`;
}

/** What a tool is used for, in a line or more. */
function describeUse(event: ParleyEvent, options: TimelineOptions): string | undefined {
  const { style } = options;
  const args: Members = event.args ?? {};
  const path = plainLine(textOf(args['path']));
  switch (event.action) {
    case 'run':
      return `${style('cyan', '$')} ${style('bold', plainText(textOf(args['command'])))}`;
    case 'edit': {
      const diff = textOf(args['diff']);
      const head = style('cyan', `± ${textOf(args['operation']) || 'edit'} ${path}`);
      return diff === '' ? head : `${head}\n${indent(colourDiff(block(diff, options), style))}`;
    }
    case 'read':
      return style('dim', `· read ${path}`);
    case 'browse':
      return style('dim', `· look at ${plainLine(textOf(args['url']))}`);
    case 'call_tool':
    case 'call_tool_mcp':
      return style('cyan', `· ${plainLine(textOf(args['name']))}`) + style('dim', inputText(args));
    default:
      return undefined;
  }
}

const tellUse: Teller = (event, options) => {
  const used = describeUse(event, options);
  // Who has to allow it is told what it is when the state says that it waits.
  return used === undefined ? undefined : `${used}\n`;
};

function tellPlan({ args }: ParleyEvent, { style }: TimelineOptions): string {
  const tasks = Array.isArray(args?.['task_list']) ? (args['task_list'] as Members[]) : [];
  const marks: Readonly<Record<string, string>> = { done: '✓', in_progress: '▸', todo: '·' };
  const lines = tasks.map((task) => {
    const line = `${marks[textOf(task['status'])] ?? '·'} ${plainLine(textOf(task['title']))}`;
    return task['status'] === 'done' ? style('dim', line) : line;
  });
  return `${style('bold', 'Plan')}\n${indent(lines.join('\n'))}\n`;
}

const actions: Readonly<Record<string, Teller>> = {
  message: ({ source, args }, { style }) => {
    const text = plainText(textOf(args?.['content'])).trim();
    const images = Array.isArray(args?.['image_urls']) ? args['image_urls'].length : 0;
    const seen = images === 0 ? '' : style('dim', ` (${images} ${images === 1 ? 'image' : 'images'})`);
    return source === 'user' ? `\n${style(['bold', 'blue'], 'You:')} ${text}${seen}\n\n` : `${text}\n`;
  },
  think: ({ args }, { style, ...options }) =>
    `${style(['dim', 'italic'], block(textOf(args?.['thought']), { style, ...options }))}\n`,
  task_tracking: tellPlan,
  change_agent_state: ({ message }, { style }) =>
    `${style(['bold', 'blue'], 'You:')} ${plainLine(message)}\n`,
  run: tellUse,
  edit: tellUse,
  read: tellUse,
  browse: tellUse,
  call_tool: tellUse,
  call_tool_mcp: tellUse,
};

/** Where it did not go well; otherwise its beginning has said it. */
function tellOutcome({ content, extras }: ParleyEvent, { style }: TimelineOptions): string {
  if (extras?.['outcome'] !== 'failed' && extras?.['outcome'] !== 'unfinished') return '';
  const why = plainLine(content ?? '') || `It is ${extras['outcome']}.`;
  return `${indent(style('red', why.slice(0, 500)))}\n`;
}

const observations: Readonly<Record<string, Teller>> = {
  run: ({ content, extras }, options) => {
    const { style } = options;
    const code = (extras?.['metadata'] as Members | undefined)?.['exit_code'];
    const output = block(content ?? '', options);
    const end =
      code === 0 || code === undefined ? '' : `${indent(style('red', `exit code ${String(code)}`))}\n`;
    return `${output === '' ? '' : `${indent(output)}\n`}${end}`;
  },
  edit: tellOutcome,
  read: tellOutcome,
  browse: tellOutcome,
  call_tool: tellOutcome,
  mcp: tellOutcome,
  notice: ({ content }, { style }) => `${style('yellow', `! ${plainText(content ?? '')}`)}\n`,
  error: ({ content }, options) => `${options.style('red', `✗ ${block(content ?? '', options)}`)}\n`,
  workspace_removed: ({ content }, { style }) => `${style('yellow', `! ${plainText(content ?? '')}`)}\n`,
};

/** Edits that have begun; more are forgotten. */
const openEditsMax = 100;

/** Gives the text for each event of a log in order; empty for those that say nothing to people. */
export function createTimeline(options: TimelineOptions): (event: ParleyEvent) => string {
  /** Those whose change was told when they began: the others tell it when they end. */
  const told = new Set<string>();
  return (event) => {
    const { action, observation = '', tool_call_id: call = '', args, content = '' } = event;
    if (action === 'edit' && textOf(args?.['diff']) !== '' && told.size < openEditsMax) told.add(call);
    const tell = action === undefined ? observations[observation] : actions[action];
    const text = tell?.(event, options) ?? '';
    const diffIsNew = action === undefined && observation === 'edit' && !told.delete(call);
    if (!diffIsNew || !content.startsWith('--- ')) return text;
    return `${indent(colourDiff(block(content, options), options.style))}\n${text}`;
  };
}

/** What the agent asks leave for, in one line. */
export function describeQuestion(event: ParleyEvent, style: Style): string {
  const used = describeUse(event, { style, linesMax: 1 }) ?? plainText(event.message);
  return used.split('\n')[0] ?? '';
}

// One call of a tool: put together from the updates that tell of it, and told as an action and an observation.
import type { NewEvent } from '../../events/shapes.ts';
import { unfinishedContent, unknownExitCode } from '../../events/unfinished.ts';
import { textOf } from '../../foreignText.ts';
import { kib } from '../../schema.ts';
import { cutText, cutValue, fits, isTextBlock, type Mask, textOfBlock } from './bounds.ts';
import { describeChanges } from './diff.ts';
import { isObject, type Params } from './peer.ts';

export const outputBytesMax = 64 * kib;
export const inputBytesMax = 16 * kib;
const titleBytesMax = 4 * kib;
const idLengthMax = 200;
const kindLengthMax = 100;
/** Longer names are of no tool, and patterns must not be tried on them: that could take minutes. */
const toolNameLengthMax = 500;

type CallStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface ToolCall {
  readonly id: string;
  readonly kind: string;
  readonly status: CallStatus;
  readonly title: string;
  /** Of a tool of an MCP server, `server/tool`. */
  readonly mcpTool: string | undefined;
  readonly input: unknown;
  readonly output: string;
  /** What came in pieces of a terminal: its beginning and its end. */
  readonly terminal: string;
  /** Characters that are missing in the middle of it. */
  readonly terminalCut: number;
  readonly exitCode: number | undefined;
  readonly path: string | undefined;
  readonly diff: string;
  /** Whether the file that was edited had been there. */
  readonly existed: boolean | undefined;
  /** Every place that it is about. */
  readonly locations: readonly string[];
  /** Members that are kept in part only: too large, or no text. Nobody can approve what they cannot see. */
  readonly partial: ReadonlySet<PartialMember>;
}

export type PartialMember = 'title' | 'input' | 'content' | 'diff' | 'locations';

export type Risk = 'low' | 'medium' | 'high';

/** The numbers that existing clients know. */
const riskNumbers: Readonly<Record<Risk, number>> = { low: 0, medium: 1, high: 2 };

/** Whether somebody has to allow it, or it was allowed without. */
export interface CallConfirmation {
  readonly state: 'awaiting_confirmation' | 'confirmed';
  readonly risk: Risk;
}

export interface CallContext {
  readonly mask: Mask;
  /** Names of the MCP servers that the agent was given. */
  readonly mcpServers: readonly string[];
}

const ended: readonly unknown[] = ['completed', 'failed'];
const statuses: readonly unknown[] = ['pending', 'in_progress', ...ended];

export function callIdOf({ toolCallId }: Params): string | undefined {
  return typeof toolCallId === 'string' ? toolCallId.slice(0, idLengthMax) : undefined;
}

export function hasEnded({ status }: ToolCall): boolean {
  return ended.includes(status);
}

export function textMember(value: unknown, ...names: readonly string[]): string | undefined {
  if (!isObject(value)) return undefined;
  const found = names.map((name) => value[name]).find((text) => typeof text === 'string' && text !== '');
  return found as string | undefined;
}

function listOf(value: unknown): Params[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function outputOf({ content, rawOutput }: Params): string | undefined {
  const blocks = listOf(content).filter(({ type }) => type === 'content');
  if (blocks.length > 0) return blocks.map((block) => textOfBlock(block['content'])).join('\n');
  if (typeof rawOutput === 'string') return rawOutput;
  // An empty list takes back what was told before.
  if (Array.isArray(content) && content.length === 0 && rawOutput == null) return '';
  return textMember(rawOutput, 'output', 'aggregated_output', 'formatted_output', 'stdout', 'error');
}

/** A piece of the output of a command, as agents send it that take the client for a terminal. */
function terminalOutputOf({ _meta: meta }: Params): string | undefined {
  return textMember(isObject(meta) ? meta['terminal_output'] : undefined, 'data');
}

/** Of the beginning, and of the end. */
const terminalCharsMax = 16 * kib;

function addPiece(
  { terminal, terminalCut }: ToolCall,
  piece: string,
  mask: Mask,
): Pick<ToolCall, 'terminal' | 'terminalCut'> {
  const text = mask(terminal + piece);
  const over = text.length - 2 * terminalCharsMax;
  if (over <= 0) return { terminal: text, terminalCut };
  const kept = text.slice(0, terminalCharsMax) + text.slice(-terminalCharsMax);
  return { terminal: kept, terminalCut: terminalCut + over };
}

function terminalText({ terminal, terminalCut }: ToolCall): string {
  if (terminalCut === 0) return terminal;
  const [head, tail] = [terminal.slice(0, terminalCharsMax), terminal.slice(terminalCharsMax)];
  return `${head}\n[${terminalCut} characters were cut here]\n${tail}`;
}

/** Agents tell it under different names. */
export function exitCodeOf({ rawOutput, _meta: meta }: Params): number | undefined {
  const raw = isObject(rawOutput) ? rawOutput : {};
  const metadata = isObject(raw['metadata']) ? raw['metadata'] : {};
  const terminal = isObject(meta) && isObject(meta['terminal_exit']) ? meta['terminal_exit'] : {};
  const told = [
    terminal['exit_code'],
    raw['exitCode'],
    raw['exit_code'],
    metadata['exit'],
    metadata['exit_code'],
  ];
  return told.find((code) => Number.isSafeInteger(code)) as number | undefined;
}

const locationsMax = 100;

function locationsOf({ locations }: Params): string[] {
  return listOf(locations).flatMap(({ path, line }) => {
    if (typeof path !== 'string') return [];
    return Number.isSafeInteger(line) ? `${path}:${line}` : path;
  });
}

/** Whether a list of contents is nothing but texts and changes of files. */
function isText(content: unknown): boolean {
  if (content == null) return true;
  if (!Array.isArray(content)) return false;
  return content.every((item: unknown) => {
    if (!isObject(item)) return false;
    const { type, path, oldText, newText, content: block } = item;
    if (type === 'diff')
      return (
        typeof path === 'string' &&
        typeof newText === 'string' &&
        (oldText == null || typeof oldText === 'string')
      );
    return type === 'content' && isTextBlock(block);
  });
}

function diffOf({ content }: Params): Pick<ToolCall, 'diff' | 'existed' | 'path'> | undefined {
  const diffs = listOf(content).filter(({ type, path }) => type === 'diff' && typeof path === 'string');
  const [first] = diffs;
  if (first === undefined) return undefined;
  const changes = diffs.map(({ path, oldText, newText }) => ({
    path: path as string,
    oldText: typeof oldText === 'string' ? oldText : null,
    newText: typeof newText === 'string' ? newText : '',
  }));
  return {
    diff: describeChanges(changes),
    // Some tell of a new file as of one that was empty, and say so beside it.
    existed: typeof first['oldText'] === 'string' && textMember(first['_meta'], 'kind') !== 'add',
    path: first['path'] as string,
  };
}

const nothingYet = {
  kind: 'other',
  status: 'pending',
  title: '',
  mcpTool: undefined,
  input: undefined,
  output: '',
  terminal: '',
  terminalCut: 0,
  exitCode: undefined,
  path: undefined,
  diff: '',
  existed: undefined,
  locations: [],
  partial: new Set<PartialMember>(),
} as const;

/** What the update tells in part only, and what was told so before and is not told anew. */
function partialOf({ partial }: ToolCall, update: Params, diff: string | undefined): Set<PartialMember> {
  const { title, rawInput, content, locations } = update;
  const isLarge = (text: string, bytesMax: number) => Buffer.byteLength(text) > bytesMax;
  const members: readonly (readonly [PartialMember, isTold: boolean, isPartial: () => boolean])[] = [
    ['title', title != null, () => typeof title !== 'string' || isLarge(title, titleBytesMax)],
    ['input', rawInput != null, () => !fits(rawInput, inputBytesMax)],
    ['content', content != null, () => !isText(content) || isLarge(outputOf(update) ?? '', outputBytesMax)],
    ['diff', diff !== undefined, () => isLarge(diff ?? '', outputBytesMax)],
    [
      'locations',
      locations != null,
      () => {
        const told = locationsOf(update);
        return told.length > locationsMax || told.some((place) => isLarge(place, titleBytesMax));
      },
    ],
  ];
  return new Set(
    members
      .filter(([name, isTold, isPartial]) => (isTold ? isPartial() : partial.has(name)))
      .map(([name]) => name),
  );
}

/** The call with what an update adds. Only what is kept of it is bounded in size. */
export function mergeCall(
  known: ToolCall | undefined,
  id: string,
  update: Params,
  context: CallContext,
): ToolCall {
  const { mask } = context;
  const call = known ?? { id, ...nothingYet };
  const { kind, status, rawInput } = update;
  const title = textMember(update, 'title');
  const mcpTool = mcpToolOf(textMember(update, 'name') ?? title ?? '', context);
  const output = outputOf(update);
  const piece = terminalOutputOf(update);
  const edited = diffOf(update);
  const path = edited?.path ?? textMember(listOf(update['locations'])[0], 'path') ?? pathIn(rawInput);
  const hasInput = rawInput != null && !(isObject(rawInput) && Object.keys(rawInput).length === 0);
  return {
    ...call,
    ...(typeof kind === 'string' ? { kind: kind.slice(0, kindLengthMax) } : {}),
    ...(statuses.includes(status) ? { status: status as CallStatus } : {}),
    ...(title === undefined ? {} : { title: cutText(mask(title), titleBytesMax) }),
    ...(mcpTool === undefined ? {} : { mcpTool }),
    ...(hasInput ? { input: cutValue(rawInput, inputBytesMax, mask) } : {}),
    ...(output === undefined ? {} : { output: cutText(mask(output), outputBytesMax) }),
    ...(piece === undefined ? {} : addPiece(call, piece, mask)),
    ...(path === undefined ? {} : { path: cutText(mask(path), titleBytesMax) }),
    ...(edited === undefined
      ? {}
      : { diff: cutText(mask(edited.diff), outputBytesMax), existed: edited.existed }),
    exitCode: exitCodeOf(update) ?? call.exitCode,
    ...(Array.isArray(update['locations'])
      ? {
          locations: locationsOf(update)
            .slice(0, locationsMax)
            .map((place) => cutText(mask(place), titleBytesMax)),
        }
      : {}),
    partial: partialOf(call, update, edited?.diff),
  };
}

function pathIn(input: unknown): string | undefined {
  return textMember(input, 'path', 'file_path', 'filePath', 'abs_path', 'absolute_path');
}

/** Agents name it in different ways. */
export const commandNames: readonly string[] = ['command', 'cmd'];

/** The command in the input of a call; undefined where there is none that can be told as a text. */
export function commandIn(input: unknown): string | undefined {
  if (!isObject(input)) return undefined;
  const command = commandNames.map((name) => input[name]).find((value) => value != null);
  if (typeof command === 'string') return command;
  return Array.isArray(command) ? command.map(textOf).join(' ') : undefined;
}

function commandOf({ input, title }: ToolCall): string {
  return commandIn(input) ?? title.replaceAll('`', '');
}

/** Agents write it in different ways: `mcp__server__tool`, `server/tool`, `server_tool`, `tool (server MCP Server)`. */
function mcpToolOf(name: string, { mcpServers, mask }: CallContext): string | undefined {
  if (name.length > toolNameLengthMax) return undefined;
  const [, first, rest] = /^(?:mcp__|Tool: |mcp\.)([\w.-]+?)(?:__|\/|\.)([\w./-]+)$/.exec(name) ?? [];
  if (first !== undefined) return mask(`${first}/${rest}`);
  const [, tool, of] = /^([\w.-]+) \((.+) MCP Server\)/.exec(name) ?? [];
  if (of !== undefined && mcpServers.includes(of)) return mask(`${of}/${tool}`);
  const server = mcpServers.find((one) => name.startsWith(`${one}_`) && /^[\w-]+$/.test(name));
  return server === undefined ? undefined : mask(`${server}/${name.slice(server.length + 1)}`);
}

export interface Told {
  /** Of the action; and of the observation where that has no name of its own. */
  readonly name: string;
  readonly observation?: string;
  /** Members of the action, and again of the observation: they say what it is about. */
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

/** `request`: what else the agent told of a call that somebody is asked for. */
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

/** `unfinished`: the turn was over before the call was. */
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

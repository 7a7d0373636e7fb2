// Reads the fields of a tool call as agents send it over ACP. Agents fill them in differently, and nothing here may
// throw, whatever they send.

import { isObject, textOf } from '../../text/foreignText.ts';
import type { OutputField } from '../profileSchema.ts';
import { isTextBlock, type Mask, textOfBlock } from './bounds.ts';
import { describeChanges } from './diff.ts';
import type { Params } from './peer.ts';

const idLengthMax = 200;
/** No tool has a longer name, and matching the patterns below against very long text could take minutes. */
const toolNameLengthMax = 500;

export interface CallContext {
  readonly mask: Mask;
  /** Names of the MCP servers that the agent was given. */
  readonly mcpServers: readonly string[];
  /** Where the agent puts the output of commands, if it fills several fields. */
  readonly output?: OutputField | undefined;
}

export function callIdOf({ toolCallId }: Params): string | undefined {
  return typeof toolCallId === 'string' ? toolCallId.slice(0, idLengthMax) : undefined;
}

export function textField(value: unknown, ...names: readonly string[]): string | undefined {
  if (!isObject(value)) return undefined;
  const found = names.map((name) => value[name]).find((text) => typeof text === 'string' && text !== '');
  return found as string | undefined;
}

export function listOf(value: unknown): Params[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function rawOutputOf(rawOutput: unknown): string | undefined {
  if (typeof rawOutput === 'string') return rawOutput;
  return textField(rawOutput, 'output', 'aggregated_output', 'formatted_output', 'stdout', 'error');
}

/** Output that is sent as a whole. An agent may fill both fields: `content` counts unless its profile says otherwise. */
export function outputOf({ content, rawOutput }: Params, preferred?: OutputField): string | undefined {
  const raw = rawOutputOf(rawOutput);
  if (preferred === 'rawOutput' && raw !== undefined) return raw;
  const blocks = listOf(content).filter(({ type }) => type === 'content');
  if (blocks.length > 0) return blocks.map((block) => textOfBlock(block['content'])).join('\n');
  // An empty list clears the output that was sent before.
  if (Array.isArray(content) && content.length === 0 && rawOutput == null) return '';
  return raw;
}

/** A chunk of command output. Some agents stream output this way because they treat the client as a terminal. */
export function terminalOutputOf({ _meta: meta }: Params): string | undefined {
  return textField(isObject(meta) ? meta['terminal_output'] : undefined, 'data');
}

/** The exit code of a command. Each agent sends it in a field of its own. */
export function exitCodeOf({ rawOutput, _meta: meta }: Params): number | undefined {
  const raw = isObject(rawOutput) ? rawOutput : {};
  const metadata = isObject(raw['metadata']) ? raw['metadata'] : {};
  const terminal = isObject(meta) && isObject(meta['terminal_exit']) ? meta['terminal_exit'] : {};
  const candidates = [
    terminal['exit_code'],
    raw['exitCode'],
    raw['exit_code'],
    metadata['exit'],
    metadata['exit_code'],
  ];
  return candidates.find((code) => Number.isSafeInteger(code)) as number | undefined;
}

export function locationsOf({ locations }: Params): string[] {
  return listOf(locations).flatMap(({ path, line }) => {
    if (typeof path !== 'string') return [];
    return Number.isSafeInteger(line) ? `${path}:${line}` : path;
  });
}

/** Whether `content` holds only text and file changes, which can be shown in full. */
export function isText(content: unknown): boolean {
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

export interface FileChange {
  readonly diff: string;
  /** Whether the edited file existed before. */
  readonly existed: boolean;
  readonly path: string;
}

export function diffOf({ content }: Params): FileChange | undefined {
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
    // Some agents report a new file as an empty one and mark it in `_meta`.
    existed: typeof first['oldText'] === 'string' && textField(first['_meta'], 'kind') !== 'add',
    path: first['path'] as string,
  };
}

export function pathIn(input: unknown): string | undefined {
  return textField(input, 'path', 'file_path', 'filePath', 'abs_path', 'absolute_path');
}

/** Input fields that hold a command. Agents use different names. */
export const commandNames: readonly string[] = ['command', 'cmd'];

/** The command in the input of a tool call; undefined if there is none that can be shown as text. */
export function commandIn(input: unknown): string | undefined {
  if (!isObject(input)) return undefined;
  const command = commandNames.map((name) => input[name]).find((value) => value != null);
  if (typeof command === 'string') return command;
  return Array.isArray(command) ? command.map(textOf).join(' ') : undefined;
}

/** Input fields that hold what is written to a file, beside a field with its path. */
const writtenNames: readonly string[] = [
  'content',
  'contents',
  'file_text',
  'new_string',
  'newString',
  'new_str',
  'new_text',
  'newText',
  'edits',
  'patch',
];

/** Whether the update shows that the call changes a file: it has a diff, or its input has a path and a text. */
export function isWriting(update: Params): boolean {
  if (listOf(update['content']).some(({ type }) => type === 'diff')) return true;
  const { rawInput } = update;
  return (
    isObject(rawInput) &&
    pathIn(rawInput) !== undefined &&
    writtenNames.some((name) => rawInput[name] != null)
  );
}

/**
 * Agents name MCP tools in different ways: `mcp__server__tool`, `server/tool`, `server_tool`, `server-tool`, `tool
 * (server MCP Server)`.
 */
export function mcpToolOf(name: string, { mcpServers, mask }: CallContext): string | undefined {
  if (name.length > toolNameLengthMax) return undefined;
  const [, first, rest] = /^(?:mcp__|Tool: |mcp\.)([\w.-]+?)(?:__|\/|\.)([\w./-]+)$/.exec(name) ?? [];
  if (first !== undefined) return mask(`${first}/${rest}`);
  const [, tool, of] = /^([\w.-]+) \((.+) MCP Server\)/.exec(name) ?? [];
  if (of !== undefined && mcpServers.includes(of)) return mask(`${of}/${tool}`);
  const begins = (one: string) => name.startsWith(`${one}_`) || name.startsWith(`${one}-`);
  const server = mcpServers.find((one) => begins(one) && /^[\w-]+$/.test(name));
  return server === undefined ? undefined : mask(`${server}/${name.slice(server.length + 1)}`);
}

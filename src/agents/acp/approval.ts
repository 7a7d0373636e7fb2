// Collects everything that an agent sent about a call that needs approval, whichever field it used. A call that cannot
// be shown in full is rejected without asking the user.
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../text/foreignText.ts';
import { cutValue, fits, type Mask } from './bounds.ts';
import { targetOf } from './callEvents.ts';
import { commandIn, commandNames } from './callFields.ts';
import type { Params } from './peer.ts';
import { inputBytesMax, type PartialField, type ToolCall } from './toolCall.ts';

/** Bounds the fields that ACP does not define, with `_meta`. */
const otherBytesMax = inputBytesMax;

export type Approval =
  /** `request` holds the details that the action itself does not show. */
  | { readonly call: ToolCall; readonly request: Params }
  /** The reason why it cannot be shown; it completes a sentence. */
  | { readonly fault: string };

/** Fields that are shown elsewhere or do not matter. All others are shown unchanged, because agents may use them. */
const knownFields: readonly string[] = [
  'content',
  'kind',
  'locations',
  'rawInput',
  'sessionUpdate',
  'status',
  'title',
  'toolCallId',
];

const partialFaults: Readonly<Record<PartialField, string>> = {
  title: 'its title is too long',
  input: 'its input is too large',
  content: 'its content is too large or is not text',
  diff: 'its diff is too large',
  locations: 'it names too many files',
};

/** Parses the input of a tool from text, which is how some agents send it. */
function inputInText(text: string): Params | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && fits(value, inputBytesMax) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Matches a title that is only a tool name and does not say what the tool would run. */
const toolName = /^(bash|shell|sh|zsh|terminal|command|(run|exec|execute)([ _-]?(shell|bash|command))*)$/i;

/** Whether a person would see nothing. */
function isBlank(value: unknown): boolean {
  if (value == null) return true;
  if (typeof value === 'string') return /^[\s\p{C}\p{Default_Ignorable_Code_Point}]*$/u.test(value);
  return typeof value === 'object' && Object.values(value).every(isBlank);
}

function faultOf(call: ToolCall, content: readonly string[]): string | undefined {
  const { kind, input, title, diff, mcpTool, locations } = call;
  if ([title, input, mcpTool, diff, content, locations].every(isBlank))
    return 'it does not say what it would do';
  if (input !== undefined || mcpTool !== undefined) return undefined;
  const texts = content.filter((text) => text !== '');
  if (kind === 'edit' && diff === '' && texts.length === 0) return 'it does not say what it would change';
  if (kind !== 'execute') return undefined;
  const last = texts.at(-1) ?? title;
  if (texts.length === 0 && (title === '' || toolName.test(title.trim())))
    return 'it does not say what it would run';
  return last.trimEnd().endsWith('…') ? 'the agent has shortened it' : undefined;
}

/** Whether the diff shows every line of the text. */
function isInDiff(text: string, diff: string): boolean {
  const shown = diff.split('\n').map((line) => line.slice(1));
  return text.split('\n').every((line) => line === '' || shown.some((one) => one.includes(line)));
}

/** Whether joining the words by spaces is unambiguous, or the last word is a script for a shell. */
function isPlain(command: unknown): boolean {
  if (!Array.isArray(command)) return true;
  if (!command.every((word) => typeof word === 'string')) return false;
  const [shell = '', flag = '', script] = command;
  if (command.length === 3 && /^(\S*\/)?(ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(flag) && script)
    return true;
  return command.every((word) => /^\S+$/.test(word));
}

/** The fields of an input that the action does not show. */
function rest(input: unknown, call: ToolCall): unknown {
  const { action, about } = targetOf(call);
  if (action === 'call_tool_mcp') return input === call.input ? undefined : input;
  if (!isObject(input)) return input;
  const shown: readonly string[] = Object.values(about);
  const isShown = (field: string, value: unknown) => {
    if (action === 'run' && field === commandNames.find((one) => input[one] != null))
      return isPlain(value) && commandIn(input) === about.command;
    if (action === 'run' || typeof value !== 'string') return false;
    return shown.includes(value) || (call.diff !== '' && isInDiff(value, call.diff));
  };
  const left = Object.entries(input).filter(([field, value]) => !isShown(field, value));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** Fields of `_meta` in which some agents stream the output of a command. */
const terminalFields: readonly string[] = ['terminal_info', 'terminal_output', 'terminal_exit'];

function withoutTerminal(meta: unknown): unknown {
  if (!isObject(meta)) return meta ?? undefined;
  const left = Object.entries(meta).filter(([name]) => !terminalFields.includes(name));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** The fields of a request that nothing else shows. */
function othersOf({ _meta: meta, name, ...requested }: Params, { mcpTool }: ToolCall): Params {
  const unknown = Object.entries(requested).filter(([field]) => !knownFields.includes(field));
  const isToolShown = typeof name === 'string' && mcpTool?.split('/').every((part) => name.includes(part));
  const others = {
    ...Object.fromEntries(unknown),
    ...(isToolShown ? {} : { name }),
    _meta: withoutTerminal(meta),
  };
  return Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
}

/** The parts of the announced input that the request does not repeat. */
function announcedInput({ input }: ToolCall, requested: unknown): unknown {
  if (!isObject(input) || !isObject(requested))
    return isDeepStrictEqual(input, requested) ? undefined : input;
  const left = Object.entries(input).filter(([name, value]) => !isDeepStrictEqual(value, requested[name]));
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/**
 * `known` is the announced call, if there is one. `requested` is the call in the request, and `merged` combines both.
 */
export function approvalOf(
  known: ToolCall | undefined,
  merged: ToolCall,
  requested: Params,
  mask: Mask,
): Approval {
  const partial = new Set([...(known?.partial ?? []), ...merged.partial]);
  for (const field of partial) return { fault: partialFaults[field] };
  const contents = [...new Set([known?.output ?? '', merged.output])].filter((text) => text !== '');
  const parsed = merged.input === undefined ? contents.map(inputInText) : [];
  const input = parsed.find((one) => one !== undefined);
  const content = contents.filter((_, i) => input === undefined || parsed[i] !== input);
  const call = input === undefined ? merged : { ...merged, input };
  const fault = faultOf(call, content);
  if (fault !== undefined) return { fault };
  const others = othersOf(requested, call);
  if (!fits(others, otherBytesMax)) return { fault: 'it has fields that are too large' };
  const { about } = targetOf(call);
  const shown: readonly unknown[] = Object.values(about);
  const announced = known === undefined ? undefined : announcedInput(known, call.input);
  const locations = call.locations.filter((location) => !shown.includes(location));
  const request = {
    ...(call.title === '' || shown.includes(call.title) ? {} : { title: call.title }),
    input: rest(call.input, call),
    announced: announced === undefined ? undefined : rest(announced, call),
    ...(content.length === 0 ? {} : { content: content.join('\n\n') }),
    ...(locations.length === 0 ? {} : { locations }),
    ...(Object.keys(others).length === 0 ? {} : { others: cutValue(others, otherBytesMax, mask) }),
  };
  return {
    call,
    request: Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)),
  };
}

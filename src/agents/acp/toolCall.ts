// The state of a tool call. The agent reports it in several updates, which are merged and limited in size here.

import { isObject } from '../../text/foreignText.ts';
import { kib } from '../../validation/schema.ts';
import { cutText, cutValue, fits, type Mask } from './bounds.ts';
import {
  type CallContext,
  diffOf,
  exitCodeOf,
  isText,
  listOf,
  locationsOf,
  mcpToolOf,
  outputOf,
  pathIn,
  terminalOutputOf,
  textField,
} from './callFields.ts';
import type { Params } from './peer.ts';

export const outputBytesMax = 64 * kib;
export const inputBytesMax = 16 * kib;
const titleBytesMax = 4 * kib;
const kindLengthMax = 100;

type CallStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

export interface ToolCall {
  readonly id: string;
  readonly kind: string;
  readonly status: CallStatus;
  readonly title: string;
  /** `server/tool` if it is a tool of an MCP server. */
  readonly mcpTool: string | undefined;
  readonly input: unknown;
  readonly output: string;
  /** Streamed terminal output. Only its beginning and its end are kept if it is long. */
  readonly terminal: string;
  /** The number of characters that were dropped from the middle of `terminal`. */
  readonly terminalCut: number;
  readonly exitCode: number | undefined;
  readonly path: string | undefined;
  readonly diff: string;
  /** Whether the edited file existed before. */
  readonly existed: boolean | undefined;
  /** Files and lines that the call concerns. */
  readonly locations: readonly string[];
  /** Fields that were cut or could not be kept as text. Users cannot approve what they cannot see in full. */
  readonly partial: ReadonlySet<PartialField>;
}

export type PartialField = 'title' | 'input' | 'content' | 'diff' | 'locations';

/** How much is kept of the beginning of the output, and as much of its end. */
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

export function terminalText({ terminal, terminalCut }: ToolCall): string {
  if (terminalCut === 0) return terminal;
  const [head, tail] = [terminal.slice(0, terminalCharsMax), terminal.slice(terminalCharsMax)];
  return `${head}\n[${terminalCut} characters were cut here]\n${tail}`;
}

const ended: readonly unknown[] = ['completed', 'failed'];
const statuses: readonly unknown[] = ['pending', 'in_progress', ...ended];

export function hasEnded({ status }: ToolCall): boolean {
  return ended.includes(status);
}

const locationsMax = 100;

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
  partial: new Set<PartialField>(),
} as const;

/** Fields that are incomplete now: those cut in this update, and those cut earlier that it does not replace. */
function partialOf({ partial }: ToolCall, update: Params, diff: string | undefined): Set<PartialField> {
  const { title, rawInput, content, locations } = update;
  const isLarge = (text: string, bytesMax: number) => Buffer.byteLength(text) > bytesMax;
  const fields: readonly (readonly [PartialField, isSent: boolean, isPartial: () => boolean])[] = [
    ['title', title != null, () => typeof title !== 'string' || isLarge(title, titleBytesMax)],
    ['input', rawInput != null, () => !fits(rawInput, inputBytesMax)],
    ['content', content != null, () => !isText(content) || isLarge(outputOf(update) ?? '', outputBytesMax)],
    ['diff', diff !== undefined, () => isLarge(diff ?? '', outputBytesMax)],
    [
      'locations',
      locations != null,
      () => {
        const paths = locationsOf(update);
        return paths.length > locationsMax || paths.some((path) => isLarge(path, titleBytesMax));
      },
    ],
  ];
  return new Set(
    fields
      .filter(([name, isSent, isPartial]) => (isSent ? isPartial() : partial.has(name)))
      .map(([name]) => name),
  );
}

/** Applies an update to a call. Only what is kept is bounded in size; the update itself may be larger. */
export function mergeCall(
  known: ToolCall | undefined,
  id: string,
  update: Params,
  context: CallContext,
): ToolCall {
  const { mask } = context;
  const call = known ?? { id, ...nothingYet };
  const { kind, status, rawInput } = update;
  const title = textField(update, 'title');
  const mcpTool = mcpToolOf(textField(update, 'name') ?? title ?? '', context);
  const piece = terminalOutputOf(update);
  // An agent that streams to a terminal may send the same again in another form.
  const isStreamed = context.output === 'terminal_output' && (piece !== undefined || call.terminal !== '');
  const output = isStreamed ? undefined : outputOf(update, context.output);
  const edited = diffOf(update);
  const path = edited?.path ?? textField(listOf(update['locations'])[0], 'path') ?? pathIn(rawInput);
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
            .map((location) => cutText(mask(location), titleBytesMax)),
        }
      : {}),
    partial: partialOf(call, update, edited?.diff),
  };
}

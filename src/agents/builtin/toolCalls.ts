// Does what the model wants done: announced, allowed, begun in the journal, done, told, and its result in the journal.
import type { ToolCallContent, ToolCallUpdate } from '@agentclientprotocol/sdk';
import type { ToolResultPart } from 'ai';
import { jsonOf } from '../../text/foreignText.ts';
import type { Client, Leave } from './client.ts';
import type { Journal } from './journal.ts';
import type { WantedCall } from './step.ts';
import type { FileChange, Tool, ToolImage, ToolResult, ToolUse } from './tools/tool.ts';

/** Output while a tool runs is told no more often. */
const outputEveryMs = 250;

interface CallNeeds {
  readonly tools: readonly Tool[];
  readonly cwd: string;
  readonly journal: Journal;
  readonly client: Client;
  readonly signal: AbortSignal;
  /** What the user has allowed for good. */
  readonly allowed: Set<string>;
}

const refusals: Readonly<Record<Exclude<Leave, 'once' | 'always'>, string>> = {
  rejected:
    'The user rejected this. Nothing of it was done. Do not try it in another way: ask, or go on without.',
  cancelled: 'It was stopped before this was begun. Nothing of it was done.',
};

const textContent = (text: string): ToolCallContent => ({ type: 'content', content: { type: 'text', text } });
const changeContent = (change: FileChange): ToolCallContent => ({ type: 'diff', ...change });

function contentOf({ text, image, change }: ToolResult): ToolCallContent[] {
  return [
    ...(change === undefined ? [textContent(text)] : [changeContent(change)]),
    ...(image === undefined ? [] : [{ type: 'content', content: { type: 'image', ...image } } as const]),
  ];
}

/** The text alone: not every API takes images there, and some would read the letters of one. */
function toOutput({ text, failed }: ToolResult): ToolResultPart['output'] {
  const value = text === '' ? '(no output)' : text;
  return failed === true ? { type: 'error-text', value } : { type: 'text', value };
}

/** Tells the newest output now and then. What is returned tells nothing more. */
function createOutput(client: Client, toolCallId: string) {
  let newest: string | undefined;
  const tell = () => {
    if (newest === undefined) return;
    const content = [textContent(newest)];
    newest = undefined;
    void client.tell({ sessionUpdate: 'tool_call_update', toolCallId, content });
  };
  const timer = setInterval(tell, outputEveryMs);
  return {
    onOutput: (text: string) => {
      newest = text;
    },
    stop: () => clearInterval(timer),
  };
}

async function run(tool: Tool, input: never, use: ToolUse): Promise<ToolResult> {
  try {
    return await tool.run(input, use);
  } catch (error) {
    return { text: `The tool itself failed: ${(error as Error).message}`, failed: true };
  }
}

/** What `always` holds for: a tool that only reads or edits files as a whole, of all others this very use. */
function sameOf({ name, kind }: Tool, input: unknown): string {
  const isTame = kind === 'read' || kind === 'search' || kind === 'think' || kind === 'edit';
  return isTame ? name : `${name} ${jsonOf(input)}`;
}

export function createToolCalls(needs: CallNeeds) {
  const { tools, cwd, journal, client, signal, allowed } = needs;

  /** Returns the call as it was told, and the path that it names without links. */
  async function announce(tool: Tool, { id, input }: WantedCall, use: ToolUse) {
    const resolved = await tool.resolve?.(input as never, use);
    const linked = resolved?.isLinked === true ? resolved : undefined;
    const path = linked?.path ?? tool.path?.(input as never);
    const change = await tool.preview?.(input as never, use);
    const call = {
      toolCallId: id,
      title: tool.title(input as never, linked?.shown),
      kind: tool.kind,
      rawInput: input,
      ...(path === undefined ? {} : { locations: [{ path }] }),
      ...(change === undefined ? {} : { content: [changeContent(change)] }),
    };
    await client.tell({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
    return { call, resolved };
  }

  async function mayRun(tool: Tool, call: ToolCallUpdate): Promise<ToolResult | undefined> {
    const same = sameOf(tool, call.rawInput);
    if (allowed.has(same)) return undefined;
    const leave = signal.aborted ? 'cancelled' : await client.ask(call);
    if (leave === 'always') allowed.add(same);
    return leave === 'once' || leave === 'always' ? undefined : { text: refusals[leave], failed: true };
  }

  async function use(tool: Tool, call: WantedCall): Promise<ToolResult> {
    const { id, input } = call;
    const output = createOutput(client, id);
    const toolUse = { cwd, signal, onOutput: output.onOutput };
    try {
      const { call: told, resolved } = await announce(tool, call, toolUse);
      const refused = await mayRun(tool, told);
      if (refused !== undefined) return refused;
      journal.begin(id);
      await client.tell({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' });
      const approved = resolved === undefined ? {} : { approvedPath: resolved?.path ?? null };
      return await run(tool, input as never, { ...toolUse, ...approved });
    } finally {
      output.stop();
    }
  }

  /**
   * Whatever goes wrong is a result that the model reads; throws only where the journal cannot be written. Returns the
   * image that the model is to see, too.
   */
  return async function doCall(call: WantedCall): Promise<ToolImage | undefined> {
    const { id, name, input } = call;
    const tool = tools.find((one) => one.name === name);
    const fault = tool === undefined ? `There is no tool ${name}.` : tool.check(input);
    const result =
      tool === undefined || fault !== undefined
        ? { text: `Wrong input: ${fault}`, failed: true }
        : await use(tool, call);
    journal.addResult({ type: 'tool-result', toolCallId: id, toolName: name, output: toOutput(result) });
    const status = result.failed === true ? 'failed' : 'completed';
    const { exitCode } = result;
    await client.tell({
      sessionUpdate: 'tool_call_update',
      toolCallId: id,
      status,
      content: contentOf(result),
      ...(fault === undefined ? {} : { title: name }),
      ...(exitCode === undefined ? {} : { rawOutput: { exit_code: exitCode } }),
    });
    return result.image;
  };
}

// Executes tool calls: each is announced, approved, recorded in the journal, executed, reported, and its result recorded.
import type { ToolCallContent, ToolCallUpdate } from '@agentclientprotocol/sdk';
import type { ToolResultPart } from 'ai';
import { jsonOf } from '../../text/foreignText.ts';
import type { AcpClient, Decision } from './client.ts';
import type { Journal } from './journal.ts';
import type { RequestedCall } from './step.ts';
import type { FileChange, Tool, ToolImage, ToolResult, ToolUse } from './tools/tool.ts';

/** The shortest interval between updates with output of a running tool. */
const outputEveryMs = 250;

interface CallNeeds {
  readonly tools: readonly Tool[];
  readonly cwd: string;
  readonly journal: Journal;
  readonly client: AcpClient;
  readonly signal: AbortSignal;
  /** What the user has allowed permanently. */
  readonly allowed: Set<string>;
}

const refusals: Readonly<Record<Exclude<Decision, 'once' | 'always'>, string>> = {
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

/** Returns text only, because not every API accepts images there, and some would read their base64 as text. */
function toOutput({ text, failed }: ToolResult): ToolResultPart['output'] {
  const value = text === '' ? '(no output)' : text;
  return failed === true ? { type: 'error-text', value } : { type: 'text', value };
}

/** Reports the newest output at intervals. */
function createOutput(client: AcpClient, toolCallId: string) {
  let newest: string | undefined;
  const tell = () => {
    if (newest === undefined) return;
    const content = [textContent(newest)];
    newest = undefined;
    void client.send({ sessionUpdate: 'tool_call_update', toolCallId, content });
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

/** Returns what `always` applies to: the whole tool if it only reads or edits files, otherwise this exact call. */
function permissionKey({ name, kind }: Tool, input: unknown): string {
  const isTame = kind === 'read' || kind === 'search' || kind === 'think' || kind === 'edit';
  return isTame ? name : `${name} ${jsonOf(input)}`;
}

export function createToolCalls(needs: CallNeeds) {
  const { tools, cwd, journal, client, signal, allowed } = needs;

  /** Returns the announced call and its path without links. */
  async function announce(tool: Tool, { id, input }: RequestedCall, use: ToolUse) {
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
    await client.send({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
    return { call, resolved };
  }

  async function mayRun(tool: Tool, call: ToolCallUpdate): Promise<ToolResult | undefined> {
    const same = permissionKey(tool, call.rawInput);
    if (allowed.has(same)) return undefined;
    const leave = signal.aborted ? 'cancelled' : await client.requestApproval(call);
    if (leave === 'always') allowed.add(same);
    return leave === 'once' || leave === 'always' ? undefined : { text: refusals[leave], failed: true };
  }

  async function use(tool: Tool, call: RequestedCall): Promise<ToolResult> {
    const { id, input } = call;
    const output = createOutput(client, id);
    const toolUse = { cwd, signal, onOutput: output.onOutput };
    try {
      const { call: announced, resolved } = await announce(tool, call, toolUse);
      const refused = await mayRun(tool, announced);
      if (refused !== undefined) return refused;
      journal.begin(id);
      await client.send({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' });
      const approved = resolved === undefined ? {} : { approvedPath: resolved?.path ?? null };
      return await run(tool, input as never, { ...toolUse, ...approved });
    } finally {
      output.stop();
    }
  }

  /**
   * Errors become results that the model reads. Throws only if the journal cannot be written. Returns the image of the
   * result, which the model should see, too.
   */
  return async function doCall(call: RequestedCall): Promise<ToolImage | undefined> {
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
    await client.send({
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

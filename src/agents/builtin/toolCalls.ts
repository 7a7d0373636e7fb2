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
/** How many calls run at the same time at most. */
const parallelMax = 8;

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
export function toResultPart({ id, name }: RequestedCall, { text, failed }: ToolResult): ToolResultPart {
  const value = text === '' ? '(no output)' : text;
  const type = failed === true ? 'error-text' : 'text';
  return { type: 'tool-result', toolCallId: id, toolName: name, output: { type, value } };
}

/** Reports the newest output at intervals. */
function createOutput(client: AcpClient, toolCallId: string) {
  let newest: string | undefined;
  const report = () => {
    if (newest === undefined) return;
    const content = [textContent(newest)];
    newest = undefined;
    void client.send({ sessionUpdate: 'tool_call_update', toolCallId, content });
  };
  const timer = setInterval(report, outputEveryMs);
  return {
    onOutput: (text: string) => {
      newest = text;
    },
    stop: () => clearInterval(timer),
  };
}

/** Returns the tool, or the result for a call that cannot run. */
export function findTool(tools: readonly Tool[], { name, input }: RequestedCall): Tool | ToolResult {
  const tool = tools.find((one) => one.name === name);
  const fault = tool === undefined ? `There is no tool ${name}.` : tool.check(input);
  return tool === undefined || fault !== undefined ? { text: `Wrong input: ${fault}`, failed: true } : tool;
}

/** Never rejects. */
export async function runTool(tool: Tool, input: unknown, use: ToolUse): Promise<ToolResult> {
  try {
    return await tool.run(input as never, use);
  } catch (error) {
    return { text: `The tool itself failed: ${(error as Error).message}`, failed: true };
  }
}

/** Returns what `always` applies to: the whole tool if it only reads or edits files, otherwise this exact call. */
function permissionKey({ name, kind }: Tool, input: unknown): string {
  const coversAll = kind === 'read' || kind === 'search' || kind === 'think' || kind === 'edit';
  return coversAll ? name : `${name} ${jsonOf(input)}`;
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

  /** Returns undefined if the call is approved, otherwise its result. */
  async function findRefusal(tool: Tool, call: ToolCallUpdate): Promise<ToolResult | undefined> {
    const key = permissionKey(tool, call.rawInput);
    if (allowed.has(key)) return undefined;
    const decision = signal.aborted ? 'cancelled' : await client.requestApproval(call);
    if (decision === 'always') allowed.add(key);
    if (decision === 'once' || decision === 'always') return undefined;
    return { text: refusals[decision], failed: true };
  }

  async function execute(tool: Tool, { id, input }: RequestedCall, approvedPath: string | null | undefined) {
    const output = createOutput(client, id);
    const approved = approvedPath === undefined ? {} : { approvedPath };
    try {
      return await runTool(tool, input, { cwd, signal, onOutput: output.onOutput, ...approved });
    } finally {
      output.stop();
    }
  }

  /** Announces the call and waits for its approval. Returns the rest of the call, which never rejects. */
  async function prepare(tool: Tool, call: RequestedCall): Promise<() => Promise<ToolResult>> {
    const { id } = call;
    const { call: announced, resolved } = await announce(tool, call, { cwd, signal, onOutput: () => {} });
    const refused = await findRefusal(tool, announced);
    if (refused !== undefined) return async () => refused;
    journal.begin(id);
    await client.send({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' });
    return () => execute(tool, call, resolved === undefined ? undefined : (resolved?.path ?? null));
  }

  async function report(call: RequestedCall, result: ToolResult, isInvalid: boolean): Promise<void> {
    journal.addResult(toResultPart(call, result));
    const status = result.failed === true ? 'failed' : 'completed';
    const { exitCode } = result;
    await client.send({
      sessionUpdate: 'tool_call_update',
      toolCallId: call.id,
      status,
      content: contentOf(result),
      ...(isInvalid ? { title: call.name } : {}),
      ...(exitCode === undefined ? {} : { rawOutput: { exit_code: exitCode } }),
    });
  }

  /** Returns the rest of the call once it may run. */
  async function begin(call: RequestedCall) {
    const found = findTool(tools, call);
    if ('text' in found) return { isInvalid: true, rest: async () => found };
    return { isInvalid: false, rest: await prepare(found, call) };
  }

  /**
   * Executes the calls of a step. Calls that only read run at the same time, others alone, and all are approved and
   * recorded in order. Errors become results that the model reads. Throws only if the journal cannot be written.
   * Returns the images of the results, which the model should see, too.
   */
  return async function doCalls(calls: readonly RequestedCall[]): Promise<ToolImage[]> {
    const images: ToolImage[] = [];
    const running = new Set<Promise<unknown>>();
    let reported = Promise.resolve();

    async function start(call: RequestedCall): Promise<void> {
      const { rest, isInvalid } = await begin(call);
      const result = rest();
      running.add(result);
      void result.finally(() => running.delete(result));
      reported = reported.then(async () => {
        const ended = await result;
        await report(call, ended, isInvalid);
        if (ended.image !== undefined) images.push(ended.image);
      });
      // The error is thrown at the end.
      reported.catch(() => {});
    }

    try {
      for (const call of calls) {
        const isParallel = tools.find(({ name }) => name === call.name)?.isParallel === true;
        if (!isParallel) await reported;
        while (running.size >= parallelMax) await Promise.race(running);
        await start(call);
        if (!isParallel) await reported;
      }
    } finally {
      await Promise.allSettled([reported]);
    }
    await reported;
    return images;
  };
}

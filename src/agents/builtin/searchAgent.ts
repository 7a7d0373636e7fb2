// The tool `search_agent`: a sub-agent that answers a question about the workspace. It has a history of its own, so that
// what it reads does not fill that of the conversation.
import { randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import type { ModelMessage, ToolResultPart } from 'ai';
import Type from 'typebox';
import { addResult, charsPerToken, tokensOfAll } from './history.ts';
import type { Model } from './model.ts';
import { isMisunderstood, type RequestedCall, type Step, StepStopped, takeStep } from './step.ts';
import { searchPrompt } from './system.ts';
import { findTool, runTool, toResultPart } from './toolCalls.ts';
import { firstChars } from './tools/output.ts';
import { defineTool, type Tool, type ToolResult, type ToolUse } from './tools/tool.ts';

/** How many searches run at the same time. Others wait. */
const searchesMax = 4;
/** Model requests of a search. The last one must give the answer. */
const stepsMax = 20;
/** Tool calls of a step, which run at the same time. */
const callsMax = 8;
const taskCharsMax = 4_000;
const titleCharsMax = 200;
const answerCharsMax = 12_000;
/** From this length of the history on, the next request must give the answer. */
const historyTokensMax = 100_000;
/** The same as a share of the context window, for models with a small one. */
const historyShare = 0.5;
/** The share of the context window that the results of one step may fill. */
const resultsShare = 0.25;
const resultCharsMax = 20_000;

const answerNow = 'You have no steps left. Answer now with what you have found, and say what is missing.';

const description = `Gives a search to another agent with an empty context, and returns only its answer (at most \
${answerCharsMax} characters). It can read and search the files of the workspace, and nothing else: no commands, no \
changes, no web, no MCP servers. It does not know this conversation, so say in the task all that it needs to know, what \
to find out, and what to answer with. Several searches can run at the same time.`;

const SearchInput = Type.Object({
  task: Type.String({
    minLength: 1,
    maxLength: taskCharsMax,
    description: 'The question, with its context.',
  }),
});

interface SearchNeeds {
  readonly model: Model;
  /** The tools of the sub-agent. They only read. */
  readonly tools: readonly Tool[];
  readonly retryMs?: number | undefined;
}

const failure = (text: string): ToolResult => ({ text, failed: true });

function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${firstChars(text, charsMax)}\n[… ${text.length - charsMax} more characters are left out]`;
}

function textOf(messages: readonly ModelMessage[]): string {
  const contents = messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
  return contents
    .flatMap((content) =>
      typeof content === 'string' ? [{ type: 'text', text: content } as const] : content,
    )
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
    .trim();
}

function answerOf({ messages, finishReason }: Step): ToolResult {
  const answer = textOf(messages);
  if (answer === '') return failure('The search agent gave no answer.');
  const isCut = finishReason === 'length' || finishReason === 'content-filter';
  return { text: `${cut(answer, answerCharsMax)}${isCut ? '\n[The answer is incomplete.]' : ''}` };
}

/** Images stay out of the history, because they would fill it. */
function resultText({ text, image }: ToolResult, charsMax: number): string {
  return image === undefined ? cut(text, charsMax) : `${text}\n[You cannot see images.]`;
}

/** What a search may keep in its history, so that its requests fit into the context window. */
function boundsFor({ contextTokens }: Model) {
  const callChars = (contextTokens * charsPerToken * resultsShare) / callsMax;
  return {
    tokensMax: Math.min(historyTokensMax, contextTokens * historyShare),
    resultCharsMax: Math.min(resultCharsMax, Math.floor(callChars)),
  };
}

/** Executes the calls of the sub-agent, all at the same time. They need no approval, because `use` limits them. */
function createCalls(tools: readonly Tool[], use: ToolUse, charsMax: number) {
  const titles: string[] = [];

  async function doCall(call: RequestedCall, index: number): Promise<ToolResultPart> {
    if (index >= callsMax) return toResultPart(call, failure(`Not run: at most ${callsMax} calls at once.`));
    const found = findTool(tools, call);
    if ('text' in found) return toResultPart(call, found);
    titles.push(firstChars(found.title(call.input as never), titleCharsMax));
    use.onOutput(titles.join('\n'));
    const result = await runTool(found, call.input, { ...use, onOutput: () => {} });
    return toResultPart(call, { ...result, text: resultText(result, charsMax) });
  }

  return (calls: readonly RequestedCall[]) => Promise.all(calls.map(doCall));
}

/** The text of the sub-agent is not shown, because only its answer counts. */
const silentClient = { send: async () => {} };

async function search(task: string, { model, tools, retryMs }: SearchNeeds, use: ToolUse) {
  const { signal } = use;
  const cwd = await realpath(use.cwd);
  const { tokensMax, resultCharsMax } = boundsFor(model);
  const doCalls = createCalls(tools, { ...use, cwd, within: cwd }, resultCharsMax);
  const messages: ModelMessage[] = [{ role: 'user', content: task }];
  const request = {
    sessionId: randomUUID(),
    model,
    system: searchPrompt(cwd),
    messages,
    tools,
    signal,
    retryMs,
  };
  let isLast = false;
  for (let steps = 1; ; steps++) {
    const step = await takeStep({ ...request, client: silentClient });
    if (step.calls.length === 0 && !isMisunderstood(step)) return answerOf(step);
    if (isLast) return failure(`The search agent found no answer in ${steps} steps. Ask for less at once.`);
    messages.push(...step.messages);
    for (const result of await doCalls(step.calls)) addResult(messages, result);
    isLast = steps === stepsMax - 1 || tokensOfAll(messages) > tokensMax;
    if (isLast) messages.push({ role: 'user', content: answerNow });
  }
}

/** An error is a result, so that the agent can go on without the answer. */
function toFailure(error: Error): ToolResult {
  return failure(
    error instanceof StepStopped ? 'Stopped by the user.' : `The search agent failed: ${error.message}`,
  );
}

/** Serves one turn, because the model may change with the next. */
export function createSearchAgent(needs: SearchNeeds): Tool {
  const running = new Set<Promise<ToolResult>>();

  async function run(task: string, use: ToolUse): Promise<ToolResult> {
    while (running.size >= searchesMax) await Promise.race(running);
    if (use.signal.aborted) return failure('Not started: stopped by the user.');
    const result = search(task, needs, use).catch(toFailure);
    running.add(result);
    return result.finally(() => running.delete(result));
  }

  return defineTool({
    name: 'search_agent',
    description,
    input: SearchInput,
    kind: 'search',
    isParallel: true,
    title: ({ task }) => {
      const [line = ''] = task.trim().split('\n', 1);
      const shown = firstChars(line, titleCharsMax);
      return `Search agent: ${shown}${shown.length < task.trim().length ? ' …' : ''}`;
    },
    run: ({ task }, use) => run(task, use),
  });
}

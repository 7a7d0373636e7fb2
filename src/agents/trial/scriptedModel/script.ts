// The scripted model answers with a list of steps. The request determines which step is next.

import type { InjectedFault } from './injectedFaults.ts';
import { fillDelegate, fillEdit, fillRun, fillWrite, findByEnd, type Tool } from './tools.ts';

export type Work =
  /** Says a text, which ends the agent's turn. */
  | { readonly say: string }
  /** Has the agent write a file. */
  | { readonly write: { readonly path: string; readonly text: string } }
  /** Has the agent edit a part of a file, or rewrite the file if it has no tool for that. */
  | { readonly edit: { readonly path: string; readonly from: string; readonly to: string } }
  /** Has the agent run a command in a shell. */
  | { readonly run: string }
  /** Has the agent call a tool, such as of an MCP server, whose name ends like this. */
  | { readonly call: { readonly tool: string; readonly input: Readonly<Record<string, unknown>> } }
  /** Has the agent give a task to a sub-agent, which follows these steps. No other prompt may contain the task. */
  | { readonly delegate: { readonly task: string; readonly steps: readonly Work[] } };

export type Step = Work | InjectedFault;

/** The content of a request, independent of its protocol. */
export interface ModelRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly tools: readonly Tool[];
  /** The results of the agent's tools so far, one text for each call. */
  readonly results: readonly string[];
  /** The messages of the model so far. */
  readonly said: readonly string[];
  /** The rest of the prompt: the text of the agent and the user. */
  readonly prompt: string;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type Answer =
  | { readonly text: string; readonly call?: undefined; readonly fault?: string }
  | { readonly call: Call };

/** The answer to side requests, such as for a title. */
const sideAnswer = 'Scripted.';
const endAnswer = 'There is no more in the script.';

/**
 * Returns the next step: it counts the results of tools and the texts of the script that were said. So a repeated
 * request gets the same answer.
 */
function stepAfter(
  work: readonly Work[],
  { results, said }: ModelRequest,
): { step: Work | undefined; at: number } {
  const texts = work.flatMap((step) => ('say' in step ? [step.say] : []));
  const heard = said.filter((text) => texts.some((known) => text.includes(known))).length;
  const at = results.length + heard;
  return { step: work[at], at };
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

type Act = Exclude<Work, { say: string }>;

function callFor(step: Act, tools: readonly Tool[]): Omit<Call, 'id'> | undefined {
  if ('call' in step) {
    const found = findByEnd(tools, step.call.tool);
    return found && { name: found.name, input: step.call.input };
  }
  if ('run' in step) return fillRun(tools, step.run);
  if ('delegate' in step) return fillDelegate(tools, step.delegate.task);
  if ('edit' in step) {
    const { path, to: text } = step.edit;
    return fillEdit(tools, step.edit) ?? callFor({ write: { path, text } }, tools);
  }
  const { path, text } = step.write;
  // Some agents write files only with commands.
  return (
    fillWrite(tools, step.write) ??
    fillRun(tools, `printf %s ${quoteForShell(text)} > ${quoteForShell(path)}`)
  );
}

function wantedBy(step: Act): string {
  if ('call' in step) return `tool ${step.call.tool}`;
  if ('delegate' in step) return 'tool to start a sub-agent';
  return `tool to ${'run' in step ? 'run a command' : 'write a file'}`;
}

function faultOf(step: Act, tools: readonly Tool[]): string {
  return `no ${wantedBy(step)} among ${tools.map(({ name }) => name).join(', ')}`;
}

/** Returns the steps of the sub-agent that sent the request; undefined if it is not from one. */
function delegatedSteps(work: readonly Work[], { prompt }: ModelRequest): readonly Work[] | undefined {
  for (const step of work)
    if ('delegate' in step && prompt.includes(step.delegate.task)) return step.delegate.steps;
  return undefined;
}

/** `at` is the index of the step; undefined for side requests and sub-agents. */
export function answerTo(
  work: readonly Work[],
  request: ModelRequest,
): { answer: Answer; at: number | undefined } {
  const delegated = delegatedSteps(work, request);
  if (delegated !== undefined) return { answer: answerTo(delegated, request).answer, at: undefined };
  const { step, at } = stepAfter(work, request);
  if (step === undefined) return { answer: { text: endAnswer }, at };
  if ('say' in step) return { answer: { text: step.say }, at };
  if (request.tools.length === 0) return { answer: { text: sideAnswer }, at: undefined };
  const call = callFor(step, request.tools);
  if (call !== undefined) return { answer: { call: { id: `call_${at}`, ...call } }, at };
  const fault = faultOf(step, request.tools);
  return { answer: { text: `There is ${fault}.`, fault }, at };
}

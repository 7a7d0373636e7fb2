// A model without a mind: what it answers is a list of steps, and which of them is next follows from what it is sent.
import { fillEdit, fillRun, fillWrite, findByEnd, type Tool } from './tools.ts';
import type { Trouble } from './troubles.ts';

export type Work =
  /** Says a text, which ends the agent's turn. */
  | { readonly say: string }
  /** Has the agent write a file. */
  | { readonly write: { readonly path: string; readonly text: string } }
  /** Has it edit a part of a file, or rewrite the file if it has no tool for that. */
  | { readonly edit: { readonly path: string; readonly from: string; readonly to: string } }
  /** Has it run a command in a shell. */
  | { readonly run: string }
  /** Has it call a tool, such as of a tool server, of which the end of its name is known. */
  | { readonly call: { readonly tool: string; readonly input: Readonly<Record<string, unknown>> } };

export type Step = Work | Trouble;

/** What a request holds, whatever its protocol. */
export interface Asked {
  readonly model: string;
  readonly stream: boolean;
  readonly tools: readonly Tool[];
  /** What the agent's tools gave so far, one text for each call. */
  readonly results: readonly string[];
  /** What the model has said so far. */
  readonly said: readonly string[];
  /** What the agent and the user tell it, without the above. */
  readonly told: string;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export type Answer =
  | { readonly text: string; readonly call?: undefined; readonly fault?: string }
  | { readonly call: Call };

/** For requests beside the work, such as for a title. */
const besideTheWork = 'Scripted.';
const afterTheEnd = 'There is no more in the script.';

/**
 * The step that is next: one for each result of a tool, and one for each text of the script that was said. So a request
 * that is sent again gets the same answer.
 */
function stepAfter(work: readonly Work[], { results, said }: Asked): { step: Work | undefined; at: number } {
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
  if ('edit' in step) {
    const { path, to: text } = step.edit;
    return fillEdit(tools, step.edit) ?? callFor({ write: { path, text } }, tools);
  }
  const { path, text } = step.write;
  // Some agents write files by commands alone.
  return (
    fillWrite(tools, step.write) ??
    fillRun(tools, `printf %s ${quoteForShell(text)} > ${quoteForShell(path)}`)
  );
}

function faultOf(step: Act, tools: readonly Tool[]): string {
  const wanted =
    'call' in step ? `tool ${step.call.tool}` : `tool to ${'run' in step ? 'run a command' : 'write a file'}`;
  return `no ${wanted} among ${tools.map(({ name }) => name).join(', ')}`;
}

/** `at` is the place of the step that is answered; undefined for what is beside the work. */
export function answerTo(work: readonly Work[], asked: Asked): { answer: Answer; at: number | undefined } {
  const { step, at } = stepAfter(work, asked);
  if (step === undefined) return { answer: { text: afterTheEnd }, at };
  if ('say' in step) return { answer: { text: step.say }, at };
  if (asked.tools.length === 0) return { answer: { text: besideTheWork }, at: undefined };
  const call = callFor(step, asked.tools);
  if (call !== undefined) return { answer: { call: { id: `call_${at}`, ...call } }, at };
  const fault = faultOf(step, asked.tools);
  return { answer: { text: `There is ${fault}.`, fault }, at };
}

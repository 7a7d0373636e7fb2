// A model without a mind: what it answers is a list of steps, and which of them is next follows from what it is sent.
import { fillRun, fillWrite, type Tool } from './tools.ts';

export type Step =
  /** Says a text, which ends the agent's turn. */
  | { readonly say: string }
  /** Has the agent write a file. */
  | { readonly write: { readonly path: string; readonly text: string } }
  /** Has it run a command in a shell. */
  | { readonly run: string };

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
function stepAfter(
  script: readonly Step[],
  { results, said }: Asked,
): { step: Step | undefined; at: number } {
  const texts = script.flatMap((step) => ('say' in step ? [step.say] : []));
  const heard = said.filter((text) => texts.some((known) => text.includes(known))).length;
  const at = results.length + heard;
  return { step: script[at], at };
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function callFor(step: Exclude<Step, { say: string }>, tools: readonly Tool[]): Omit<Call, 'id'> | undefined {
  if ('run' in step) return fillRun(tools, step.run);
  const { path, text } = step.write;
  // Some agents write files by commands alone.
  return (
    fillWrite(tools, step.write) ??
    fillRun(tools, `printf %s ${quoteForShell(text)} > ${quoteForShell(path)}`)
  );
}

export function answerTo(script: readonly Step[], asked: Asked): Answer {
  const { step, at } = stepAfter(script, asked);
  if (step === undefined) return { text: afterTheEnd };
  if ('say' in step) return { text: step.say };
  if (asked.tools.length === 0) return { text: besideTheWork };
  const call = callFor(step, asked.tools);
  if (call !== undefined) return { call: { id: `call_${at}`, ...call } };
  const fault = `no tool to ${'run' in step ? 'run a command' : 'write a file'} among ${asked.tools.map(({ name }) => name).join(', ')}`;
  return { text: `There is ${fault}.`, fault };
}

// Checks a trial after the agent has ended its turn.
import type { ApprovalMode } from '../launch.ts';
import { editedText, rejectedFile, seenEffects, writtenText } from './files.ts';
import type { Step } from './scriptedModel/script.ts';
import type { Exchange } from './scriptedModel/server.ts';

export const trialInstruction = 'Standing instruction of the trial: keep to the script.';

const answer = 'The scripted work is done.';
const quotedMax = 500;
/** The script of the model. `workspace` is the path inside the sandbox. `approvalOutcomes.ts` judges the mode `ask`. */
export function trialScript(workspace: string, mode: ApprovalMode): readonly Step[] {
  const write = { write: { path: `${workspace}/written.txt`, text: writtenText } };
  const copy = (from: string, to: string) => ({ run: `cp '${workspace}/${from}' '${workspace}/${to}'` });
  if (mode === 'auto') return [write, copy('written.txt', 'copied.txt'), { say: answer }];
  const edit = { path: `${workspace}/written.txt`, from: writtenText, to: editedText };
  return [{ run: 'pwd' }, copy('seed.txt', 'copied.txt'), write, { edit }, { say: answer }];
}

/** The script for the turn in which every request is rejected. */
export function rejectedScript(workspace: string): readonly Step[] {
  return [{ run: `touch '${workspace}/${rejectedFile}'` }, { say: answer }];
}

interface Trial {
  /** The name of the model that the agent should request. */
  readonly model: string;
  /** The path outside the sandbox. */
  readonly workspace: string;
  readonly exchanges: readonly Exchange[];
  readonly said: string;
  /** The file with the instructions, if the agent has one. */
  readonly instructions: string | undefined;
}

/** A check passed if it has neither a fault nor `unjudged`, which says why it could not be made. */
export interface Outcome {
  readonly name: string;
  readonly fault?: string | undefined;
  readonly unjudged?: string;
}

function quote(text: string | undefined): string {
  return text ? `: ${text.trim().slice(0, quotedMax)}` : ' nothing';
}

export function trialOutcomes(trial: Trial): Outcome[] {
  const { model, workspace, exchanges, said, instructions } = trial;
  const unable = exchanges.map(({ answer }) => (answer.call === undefined ? answer.fault : undefined));
  const noTool = unable.find((fault) => fault !== undefined);
  const results = exchanges.at(-1)?.request.results ?? [];
  const outcomes: Outcome[] = [];
  const check = (name: string, isGood: boolean, fault: string) =>
    outcomes.push({ name, fault: isGood ? undefined : fault });

  const models = new Set(exchanges.map(({ request }) => request.model));
  check('asks its model', models.has(model), `it asked for${quote([...models].join(', '))}`);
  const done = seenEffects(workspace);
  const wrote = done.includes('written');
  check('writes a file', wrote, noTool ?? `its tools said${quote(results.join(' / '))}`);
  const copied = done.includes('copied');
  check('runs a command', copied, noTool ?? `its tools said${quote(results.join(' / '))}`);
  check('answers', said.includes(answer), `it said${quote(said)}`);
  if (instructions !== undefined) {
    const knows = exchanges.some(({ request }) => request.prompt.includes(trialInstruction));
    check(`reads ~/${instructions}`, knows, 'its content did not reach the model');
  }
  return outcomes;
}

// What must be true of a trial once the agent has ended its turn.
import type { AskMode } from '../launch.ts';
import { editedText, rejectedFile, seenEffects, writtenText } from './files.ts';
import type { Step } from './scriptedModel/script.ts';
import type { Exchange } from './scriptedModel/server.ts';

export const trialInstruction = 'Standing instruction of the trial: keep to the script.';

const answer = 'The scripted work is done.';
const quotedMax = 500;
/** The script of the model. `workspace` is the path inside the sandbox; trialAsking.ts judges the mode `ask`. */
export function trialScript(workspace: string, mode: AskMode): readonly Step[] {
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
  /** The name under which it was to ask for its model. */
  readonly model: string;
  /** As seen from outside. */
  readonly workspace: string;
  readonly exchanges: readonly Exchange[];
  readonly said: string;
  /** The file of standing instructions, where it has one. */
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
  const results = exchanges.at(-1)?.asked.results ?? [];
  const outcomes: Outcome[] = [];
  const check = (name: string, isGood: boolean, fault: string) =>
    outcomes.push({ name, fault: isGood ? undefined : fault });

  const models = new Set(exchanges.map(({ asked }) => asked.model));
  check('asks its model', models.has(model), `it asked for${quote([...models].join(', '))}`);
  const done = seenEffects(workspace);
  const wrote = done.includes('written');
  check('writes a file', wrote, noTool ?? `its tools said${quote(results.join(' / '))}`);
  const copied = done.includes('copied');
  check('runs a command', copied, noTool ?? `its tools said${quote(results.join(' / '))}`);
  check('answers', said.includes(answer), `it said${quote(said)}`);
  if (instructions !== undefined) {
    const knows = exchanges.some(({ asked }) => asked.told.includes(trialInstruction));
    check(`reads ~/${instructions}`, knows, 'the model was told nothing of it');
  }
  return outcomes;
}

// What must be true of a trial once the agent has ended its turn.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { AskMode } from './launch.ts';
import type { Step } from './scriptedModel/script.ts';
import type { Exchange } from './scriptedModel/server.ts';
import { repositoryActed } from './trialRepository.ts';

export const trialInstruction = 'Standing instruction of the trial: keep to the script.';

const written = 'written by the agent';
/** With whatever blanks an agent adds. */
const writtenBytesMax = 1_024;
const answer = 'The scripted work is done.';
const quotedMax = 500;
/** What the script has it do, each of which needs leave. */
const actions = 2;

/** What the model wants. `workspace` as seen from inside. */
export function trialScript(workspace: string): readonly Step[] {
  return [
    { write: { path: `${workspace}/written.txt`, text: written } },
    { run: `cp '${workspace}/written.txt' '${workspace}/copied.txt'` },
    { say: answer },
  ];
}

interface Trial {
  /** The name under which it was to ask for its model. */
  readonly model: string;
  /** As seen from outside. */
  readonly workspace: string;
  readonly exchanges: readonly Exchange[];
  readonly said: string;
  /** How often it asked for permission. */
  readonly questions: number;
  readonly mode: AskMode;
  /** The file of standing instructions, where it has one. */
  readonly instructions: string | undefined;
}

/** Without a fault it is as it should be. */
export interface Outcome {
  readonly name: string;
  readonly fault: string | undefined;
}

/** What is there was made by the agent: a link could lead to any file of the host, and a file be of any size. */
function wasWritten(workspace: string, name: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(join(workspace, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = Buffer.alloc(writtenBytesMax);
    const size = fstatSync(file).isFile() ? readSync(file, found) : 0;
    return found.toString('utf8', 0, size).trim() === written;
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function quote(text: string | undefined): string {
  return text ? `: ${text.trim().slice(0, quotedMax)}` : ' nothing';
}

export function trialOutcomes(trial: Trial): Outcome[] {
  const { model, workspace, exchanges, said, questions, mode, instructions } = trial;
  const unable = exchanges.map(({ answer }) => (answer.call === undefined ? answer.fault : undefined));
  const noTool = unable.find((fault) => fault !== undefined);
  const results = exchanges.at(-1)?.asked.results ?? [];
  const outcomes: Outcome[] = [];
  const check = (name: string, isGood: boolean, fault: string) =>
    outcomes.push({ name, fault: isGood ? undefined : fault });

  const models = new Set(exchanges.map(({ asked }) => asked.model));
  check('asks its model', models.has(model), `it asked for${quote([...models].join(', '))}`);
  const wrote = wasWritten(workspace, 'written.txt');
  check('writes a file', wrote, noTool ?? `its tool said${quote(results[0])}`);
  const copied = wasWritten(workspace, 'copied.txt');
  check('runs a command', copied, noTool ?? `its tool said${quote(results[1])}`);
  check('answers', said.includes(answer), `it said${quote(said)}`);
  if (mode === 'ask') {
    check('asks before it acts', questions >= actions, `it asked for permission ${questions} times`);
    const acted = repositoryActed(workspace);
    check(
      'runs nothing that a repository brings',
      !acted,
      'it ran a hook or a tool server of the repository',
    );
  }
  if (instructions !== undefined) {
    const knows = exchanges.some(({ asked }) => asked.told.includes(trialInstruction));
    check(`reads ~/${instructions}`, knows, 'the model was told nothing of it');
  }
  return outcomes;
}

// The tools that run commands: one waits for a command, the others manage background commands.
import Type from 'typebox';
import { type Background, backgroundMax, createBackground } from './background.ts';
import { type Command, type CommandEnd, type Environment, startCommand } from './command.ts';
import { firstChars, headCharsMax, tailCharsMax } from './output.ts';
import { defineTool, type Tool, type ToolResult, type ToolUse } from './tool.ts';

export interface CommandTools {
  readonly tools: readonly Tool[];
  /** Ends all commands. Never rejects. */
  close(): Promise<void>;
}

const timeoutSecondsUsual = 120;
const timeoutSecondsMax = 600;
const waitSecondsMax = 60;
/** The system does not accept longer ones. */
const commandCharsMax = 100_000;
const titleCharsMax = 500;
const idCharsMax = 20;
/** The time in which a background command that cannot work usually fails. */
const startMs = 500;
const showEveryMs = 100;

const BashInput = Type.Object({
  command: Type.String({ minLength: 1, maxLength: commandCharsMax }),
  timeout_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: timeoutSecondsMax,
      description: `Default ${timeoutSecondsUsual}. Not for background.`,
    }),
  ),
  background: Type.Optional(
    Type.Boolean({ description: 'Start it and go on, as for servers and watchers.' }),
  ),
});

const id = Type.String({ maxLength: idCharsMax, description: 'As bash told it, such as bg1.' });

const OutputInput = Type.Object({
  id,
  wait_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: waitSecondsMax,
      description: 'How long to wait for its end. Default 0.',
    }),
  ),
});

const StopInput = Type.Object({ id });

const bashDescription = `Runs a command with bash and gives its output (stdout and stderr together) and its exit code.
Each command is a new shell that starts in the workspace: cd, variables and functions do not last to the next one, so \
join with && what belongs together. There is no terminal and no input: give flags such as --yes.
Of long output, the first ${headCharsMax} and the last ${tailCharsMax} characters are given. \
A command that takes longer than timeout_seconds is ended.
With background: true it is started and goes on beside you (at most ${backgroundMax}); see bash_output and bash_stop.`;

const failure = (text: string): ToolResult => ({ text, failed: true });

function join(output: string, ...notes: readonly string[]): string {
  const said = output.trim() === '' ? '(no output)' : output.trimEnd();
  return [said, ...notes.map((note) => `[${note}]`)].join('\n');
}

function endNotes({ exitCode, signal }: CommandEnd): string[] {
  if (signal !== null) return [`ended by ${signal}`];
  return exitCode === 0 ? [] : [`exit code ${exitCode}`];
}

function resultOf(command: Command, ...notes: readonly string[]): ToolResult {
  const end = command.end();
  return {
    text: join(command.output.take(), ...notes),
    ...(end === undefined ? {} : { exitCode: end.exitCode }),
    ...(end?.exitCode === 0 ? {} : { failed: true }),
  };
}

/** Reports the output so far at intervals. Returns a function that stops it. */
function showOutput({ output }: Command, use: ToolUse): () => void {
  let shownChars = 0;
  const timer = setInterval(() => {
    if (output.pushedChars === shownChars) return;
    shownChars = output.pushedChars;
    use.onOutput(output.text());
  }, showEveryMs);
  return () => clearInterval(timer);
}

/** Processes that a command leaves behind become a background command, if the limit allows it. */
async function afterEnd(command: Command, background: Background): Promise<ToolResult> {
  const notes = endNotes(command.end() ?? { exitCode: 0, signal: null });
  if (!command.isAlive()) return resultOf(command, ...notes);
  const id = background.add(command);
  if (id !== undefined)
    return resultOf(command, ...notes, `what it started still runs, as ${id}: see bash_output, bash_stop`);
  await command.stop();
  return resultOf(
    command,
    ...notes,
    `what it started in the background was ended: ${backgroundMax} commands run there already`,
  );
}

async function runToEnd(
  command: Command,
  seconds: number,
  use: ToolUse,
  background: Background,
): Promise<ToolResult> {
  const waited = await command.shellEnds(seconds * 1_000, use.signal);
  if (waited === 'ended') return afterEnd(command, background);
  await command.stop();
  const why =
    waited === 'aborted'
      ? 'stopped by the user'
      : `ended, for it took longer than ${seconds} s: give a larger timeout_seconds (at most ${timeoutSecondsMax}), or run it with background: true`;
  return { ...resultOf(command, why), failed: true };
}

async function runInBackground(command: Command, use: ToolUse, background: Background): Promise<ToolResult> {
  const id = background.add(command);
  const waited = id === undefined ? 'aborted' : await command.allEnds(startMs, use.signal);
  if (waited === 'aborted') await command.stop();
  if (id === undefined) return failure(fullText(background));
  if (waited === 'aborted') return { ...resultOf(command, 'stopped by the user'), failed: true };
  const end = command.end();
  if (waited === 'ended' && end !== undefined)
    return resultOf(command, ...endNotes(end), 'it has ended already: nothing runs in the background');
  return { text: join(command.output.take(), `runs in the background as ${id}: see bash_output, bash_stop`) };
}

const fullText = (background: Background) =>
  `Not started: ${backgroundMax} commands run in the background already. End one with bash_stop.\n${background.describe()}`;

function createBash(
  env: Environment,
  background: Background,
  running: Set<Command>,
  isClosed: () => boolean,
) {
  async function start(text: string, cwd: string): Promise<Command | ToolResult> {
    try {
      return await startCommand({ text, cwd, env });
    } catch (error) {
      return failure(
        `The command could not be started: ${(error as Error).message}. A long one can be written to a file and run from there.`,
      );
    }
  }

  return defineTool({
    name: 'bash',
    description: bashDescription,
    input: BashInput,
    kind: 'execute',
    title: ({ command }) => {
      const shown = firstChars(command, titleCharsMax);
      const hidden = command.length - shown.length;
      return hidden === 0 ? command : `${shown} … (${hidden} characters more)`;
    },
    run: async (input, use) => {
      if (input.background === true && background.isFull()) return failure(fullText(background));
      if (use.signal.aborted || isClosed()) return failure('Not started: stopped by the user.');
      const command = await start(input.command, use.cwd);
      if (!('output' in command)) return command;
      running.add(command);
      if (isClosed()) await command.stop();
      const hide = showOutput(command, use);
      try {
        if (input.background === true) return await runInBackground(command, use, background);
        return await runToEnd(command, input.timeout_seconds ?? timeoutSecondsUsual, use, background);
      } finally {
        hide();
        running.delete(command);
      }
    },
  });
}

function stateNote(id: string, command: Command): string {
  const end = command.end();
  if (command.isAlive()) return `${id} still runs`;
  return `${id} has ended: ${(end === undefined ? [] : endNotes(end))[0] ?? 'exit code 0'}`;
}

const unknownId = (id: string, background: Background): ToolResult =>
  failure(`There is no background command "${id}". ${background.describe()}`);

function createOutputTool(background: Background): Tool {
  return defineTool({
    name: 'bash_output',
    description:
      'Gives what a background command has written since you last asked, and whether it still runs. With wait_seconds it waits for the end of the command, at most so long.',
    input: OutputInput,
    kind: 'read',
    title: ({ id }) => `Output of ${id}`,
    run: async ({ id, wait_seconds = 0 }, use) => {
      const command = background.find(id);
      if (command === undefined) return unknownId(id, background);
      const hide = showOutput(command, use);
      await command.allEnds(wait_seconds * 1_000, use.signal).finally(hide);
      const text = join(command.output.take(), stateNote(id, command));
      const end = command.isAlive() ? undefined : command.end();
      return { text, ...(end === undefined ? {} : { exitCode: end.exitCode }) };
    },
  });
}

function createStopTool(background: Background): Tool {
  return defineTool({
    name: 'bash_stop',
    description: 'Ends a background command and gives the rest of its output.',
    input: StopInput,
    // The kind is not `execute`, because clients would show its title as a command.
    kind: 'other',
    title: ({ id }) => `Stop the background command ${id}`,
    run: async ({ id }) => {
      const command = background.find(id);
      if (command === undefined) return unknownId(id, background);
      await command.stop();
      return { text: join(command.output.take(), stateNote(id, command)) };
    },
  });
}

/** Commands get the given environment and a few more variables. */
export function createCommandTools({ env }: { readonly env: Environment }): CommandTools {
  const background = createBackground();
  const running = new Set<Command>();
  let closed = false;
  return {
    tools: [
      createBash(env, background, running, () => closed),
      createOutputTool(background),
      createStopTool(background),
    ],
    close: async () => {
      closed = true;
      await Promise.all([...running, ...background.all()].map((command) => command.stop()));
    },
  };
}

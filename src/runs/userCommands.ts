// Runs commands that the user typed in the sandbox of the run, one at a time.
import { outputBytesMax } from '../agents/acp/toolCall.ts';
import type { RunPartials } from '../events/partials/runPartials.ts';
import { unknownExitCode } from '../events/unfinished.ts';
import type { NewObservation } from '../events/vocabulary/vocabulary.ts';
import type { OpenSandbox } from '../sandbox/openSandbox.ts';
import { runForTail } from '../sandbox/runToEnd.ts';
import type { Masking } from './masking.ts';
import type { UserCommand } from './prompts/inbox.ts';
import type { Recorder } from './recorder.ts';
import type { RunFaults } from './runFaults.ts';

const commandMs = 5 * 60_000;
/** In the environment, because every user of a machine can see the arguments of a process. */
const variable = 'PARLEY_COMMAND';
const script = `parley=$${variable}; unset ${variable}; eval "$parley"`;

interface UserCommandsOptions {
  readonly sandbox: OpenSandbox;
  readonly variables: Readonly<Record<string, string>>;
  readonly recorder: Recorder;
  readonly masking: Masking;
  /** Shows the output while a command runs. */
  readonly texts: RunPartials;
  readonly watch: RunFaults['watch'];
  readonly signal: AbortSignal;
  /** Commands before this event were sent to an earlier run, which has answered them. */
  readonly from: number;
  /** Called when a command has ended, which may have changed files. */
  readonly onEnded?: () => void;
  readonly timeoutMs?: number;
}

export function createUserCommands(options: UserCommandsOptions) {
  const {
    sandbox,
    variables,
    recorder,
    masking,
    texts,
    watch,
    signal,
    from,
    timeoutMs = commandMs,
  } = options;
  let last: Promise<void> = Promise.resolve();

  async function execute(
    command: string,
    onOutput: (text: string) => void,
  ): Promise<Pick<NewObservation, 'content'> & { code: number | null }> {
    const program = { argv: ['bash', '-c', script], env: { ...variables, [variable]: command } } as const;
    const bounds = { timeoutMs, signal, tailBytesMax: outputBytesMax, hide: masking.text, onOutput };
    const { code, bound, tail } = await runForTail(sandbox, program, bounds);
    if (bound !== 'time') return { code, content: tail };
    return { code: null, content: `${tail}\n[The command was ended after ${timeoutMs / 1_000} s.]` };
  }

  async function answer(event: UserCommand): Promise<void> {
    if (signal.aborted) return;
    const { command } = event.args;
    const failed = (error: Error) => ({
      code: null,
      content: `The command could not be run: ${error.message}`,
    });
    const of = masking.text(event.tool_call_id);
    const masked = masking.stream();
    const show = (text: string) => texts.append('output', of, masked.add(text));
    const { code, content } = await execute(command, show).catch(failed);
    texts.end('output', of);
    // The log gets its end when the conversation is released.
    if (signal.aborted) return;
    await recorder.step({
      events: [
        {
          source: 'user',
          message: '',
          observation: 'run',
          content,
          extras: {
            command,
            metadata: { exit_code: code ?? unknownExitCode },
            outcome: code === 0 ? 'completed' : 'failed',
          },
          tool_call_id: event.tool_call_id,
          cause: event.id,
        },
      ],
      commandEnded: true,
    });
    options.onEnded?.();
  }

  return {
    add: (event: UserCommand) => {
      if (event.id < from) return;
      last = last.then(() => answer(event));
      watch(() => last);
    },
  };
}

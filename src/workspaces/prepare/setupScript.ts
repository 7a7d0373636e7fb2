// The setup script of a repository, `.openhands/setup.sh`. It runs once in each workspace, in the sandbox. A failure is
// reported, and the conversation continues.
import type { OpenSandbox } from '../../sandbox/openSandbox.ts';
import { runForTail } from '../../sandbox/runToEnd.ts';

export const setupScript = '.openhands/setup.sh';

const tailBytesMax = 2_048;

/** The failure as a sentence, and the end of the output, which may contain whatever the script can see. */
export interface SetupFailure {
  readonly sentence: string;
  readonly output: string;
}

interface SetupOptions {
  readonly sandbox: OpenSandbox;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Takes secrets out of the output. */
  readonly hide?: (text: string) => string;
}

/** Returns undefined on success. */
export async function runSetupScript(options: SetupOptions): Promise<SetupFailure | undefined> {
  const { sandbox, env, signal, timeoutMs, hide } = options;
  const launch = { argv: ['bash', setupScript], env } as const;
  const outcome = await runForTail(sandbox, launch, {
    timeoutMs,
    signal,
    tailBytesMax,
    ...(hide && { hide }),
  });
  const { code, bound, tail } = outcome;
  if (code === 0) return undefined;
  const how =
    bound === 'time'
      ? `was ended after ${timeoutMs / 1_000} s`
      : code === null
        ? `was ended by ${outcome.signal}`
        : `failed with code ${code}`;
  return { sentence: `${setupScript} ${how}.`, output: tail };
}

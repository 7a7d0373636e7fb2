// Explains to the user in one sentence why a clone failed. Git's own messages are used only if the bridge knows no
// reason.

import { containerFailure } from '../../sandbox/containerFailure.ts';
import type { RunOutcome } from '../../sandbox/runToEnd.ts';
import { couldNotStartCode } from '../../sandbox/sandboxProcess.ts';

interface Clone {
  readonly path: string;
  readonly branch: string | null;
  readonly timeoutMs: number;
  /** The fault of the last request to the host, from the bridge. */
  readonly fault: string | undefined;
}

/** The exit code of a shell whose program was killed by SIGKILL. */
const killedCode = 128 + 9;
const shownCharsMax = 300;

function knownFaults({ path, branch }: Clone): readonly (readonly [RegExp, string])[] {
  return [
    [
      /No space left on device|Disk quota exceeded|File too large/,
      `There is no space left for ${path} on this machine.`,
    ],
    [
      // This comes first, because git then also reports that index-pack failed.
      /out of memory|cannot allocate memory|cannot be mapped|died of signal 9/i,
      `${path} needs more memory to be cloned than a sandbox may have.`,
    ],
    [/Remote branch .* not found/, `There is no branch "${branch}" in ${path}.`],
    [
      /fsckObjects|fsck error|invalid path|index-pack (failed|died)|inflate:|bad object|early EOF/,
      `${path} contains objects that Git rejects because they are damaged or dangerous.`,
    ],
    [/execvp git: No such file/, 'Git is not installed where agents run.'],
  ];
}

/**
 * Git's last fatal message. It may contain text of the server, so it is truncated and control characters are removed.
 */
function lastWord(stderr: string): string | undefined {
  const fatal = stderr.split(/[\r\n]/).findLast((line) => /^(fatal|error): /.test(line));
  return fatal
    ?.replace(/^\w+: /, '')
    .replace(/\p{Cc}/gu, ' ')
    .slice(0, shownCharsMax);
}

export function cloneFailure(outcome: RunOutcome, clone: Clone): string {
  const { path, timeoutMs, fault } = clone;
  if (outcome.bound === 'aborted') return 'The conversation was stopped while its workspace was prepared.';
  if (outcome.bound === 'time') return `Cloning ${path} took longer than ${timeoutMs / 1_000} s.`;
  if (outcome.code === couldNotStartCode) return 'Git is not installed where agents run.';
  const notStarted = containerFailure(outcome);
  if (notStarted !== undefined) return notStarted;
  if (fault !== undefined) return fault;
  const stderr = outcome.stderr.toString();
  const known = knownFaults(clone).find(([pattern]) => pattern.test(stderr));
  if (known !== undefined) return known[1];
  if (outcome.signal === 'SIGKILL' || outcome.code === killedCode)
    return `Cloning ${path} was killed, most likely because it needed more memory than a sandbox may have.`;
  const word = lastWord(stderr);
  return `Cloning ${path} failed${word === undefined ? '' : `: ${word}`}.`.replace(/\.+$/, '.');
}

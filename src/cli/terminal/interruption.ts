// Ctrl-C and other signals end a command in an orderly way.
import { constants } from 'node:os';

/** Calls `work` with an AbortSignal that one of these signals aborts. Its reason is the name of the signal. */
export async function untilInterrupted<Out>(
  names: readonly NodeJS.Signals[],
  work: (signal: AbortSignal) => Promise<Out>,
): Promise<Out> {
  const ending = new AbortController();
  const end = (name: NodeJS.Signals) => ending.abort(name);
  for (const name of names) process.once(name, end);
  try {
    return await work(ending.signal);
  } finally {
    for (const name of names) process.removeListener(name, end);
  }
}

/** The exit code that a shell reports for a program that a signal has ended. */
export function exitOfSignal(name: NodeJS.Signals): number {
  return 128 + constants.signals[name];
}

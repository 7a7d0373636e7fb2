// Ctrl-C and its like, which end what a command does in good order.
import { constants } from 'node:os';

/** Calls `work` with a signal that ends with one of these; its reason is their name. */
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

/** As a shell tells of a program that a signal has ended. */
export function exitOfSignal(name: NodeJS.Signals): number {
  return 128 + constants.signals[name];
}

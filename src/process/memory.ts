// What V8 keeps and forgets. Loading the program leaves garbage behind that it would keep room for: one thorough
// collection, soon after the start and before there is much to do, gives a fifth of the memory back.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const settleAfterMs = 1_000;

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

function settle(): void {
  try {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as Collect;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  } catch {
    // It is worth some memory, and nothing more.
  }
}

/** Collects once, for the thread that calls it. Takes some tens of milliseconds. */
export function settleMemorySoon(): void {
  setTimeout(settle, settleAfterMs).unref();
}

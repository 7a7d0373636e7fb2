// Reduces the memory of V8. Loading the program leaves garbage for which it would keep room; one full collection soon
// after the start frees a fifth of the memory.
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
    // The collection only saves memory, so its failure does not matter.
  }
}

/** Runs one collection in the calling thread, which takes some tens of milliseconds. */
export function settleMemorySoon(): void {
  setTimeout(settle, settleAfterMs).unref();
}

// Limits lookups of names that others choose. The system has few threads for lookups, and a slow one blocks its thread
// for long.
import { OutgoingError } from './errors.ts';
import type { Lookup } from './resolve.ts';

interface GateOptions {
  readonly atOnceMax: number;
  readonly waitingMax: number;
  readonly timeoutMs?: number;
}

const usualTimeoutMs = 10_000;

function busy(): OutgoingError {
  return new OutgoingError('timeout', 'Too many host names are being resolved; try again.');
}

/** Limits how many lookups run at the same time. */
export function limitLookups(lookup: Lookup, options: GateOptions): Lookup {
  const { atOnceMax, waitingMax, timeoutMs = usualTimeoutMs } = options;
  const waiting: (() => void)[] = [];
  let open = 0;

  async function enter(): Promise<void> {
    if (open >= atOnceMax) {
      if (waiting.length >= waitingMax) throw busy();
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    open += 1;
  }

  function leave(): void {
    open -= 1;
    waiting.shift()?.();
  }

  return async (hostname) => {
    await enter();
    // Its thread is busy until it ends, even if nobody waits any more.
    const found = lookup(hostname).finally(leave);
    found.catch(() => {});
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(busy()), timeoutMs);
    return Promise.race([found, late.promise]).finally(() => clearTimeout(timer));
  };
}

// So many model requests of a run go at once; the others wait, first come, first served: agents bear that best.
import type { GatewayBounds } from './bounds.ts';
import { Refusal } from './refusal.ts';

export interface Gate {
  /** Rejects with Refusal, 429, where too many wait, and with the reason of the signal where that comes first. */
  pass<Out>(signal: AbortSignal, work: () => Promise<Out>): Promise<Out>;
}

export function createGate({ requestsMax, waitingMax }: GatewayBounds): Gate {
  const waiting = new Set<() => void>();
  let passed = 0;

  function wait(signal: AbortSignal): Promise<void> {
    if (waiting.size >= waitingMax)
      throw new Refusal('Too many model requests wait already; try again.', { status: 429, untold: true });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    waiting.add(resolve);
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Whoever waits longest has the place of who leaves. */
  function leave(): void {
    const [next] = waiting;
    if (next === undefined) passed -= 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  return {
    pass: async (signal, work) => {
      signal.throwIfAborted();
      if (passed < requestsMax) passed += 1;
      else await wait(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

// Limits how many model requests of a run are sent at once. Others wait in order, which agents handle best.
import type { GatewayBounds } from './bounds.ts';
import { Refusal } from './refusal.ts';

export interface Gate {
  /** Rejects with Refusal, 429, if too many wait, and with the reason of the signal if that comes first. */
  pass<Out>(signal: AbortSignal, work: () => Promise<Out>): Promise<Out>;
}

export function createGate({ requestsMax, waitingMax }: GatewayBounds): Gate {
  const waiting = new Set<() => void>();
  let active = 0;

  function wait(signal: AbortSignal): Promise<void> {
    if (waiting.size >= waitingMax)
      throw new Refusal('Too many model requests are waiting; try again.', { status: 429, silent: true });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      waiting.delete(resolve);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    waiting.add(resolve);
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** The request that has waited longest is next. */
  function leave(): void {
    const [next] = waiting;
    if (next === undefined) active -= 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  return {
    pass: async (signal, work) => {
      signal.throwIfAborted();
      if (active < requestsMax) active += 1;
      else await wait(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

// Bounds the calls that run at the same time.

/**
 * Returns a function that runs a call as soon as there is room, and gives up waiting for it when the signal is aborted. A
 * call that does not end counts until it does; one that has not begun is forgotten, with the data it holds.
 */
export function limitCalls(atOnceMax: number, gaveUp: () => Error) {
  let running = 0;
  const waiting = new Set<() => void>();

  async function enter(signal: AbortSignal): Promise<void> {
    if (running < atOnceMax) {
      running += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => {
      waiting.delete(resolve);
      reject(gaveUp());
    };
    waiting.add(resolve);
    signal.addEventListener('abort', giveUp, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  async function run<Out>(signal: AbortSignal, call: () => Promise<Out>): Promise<Out> {
    try {
      if (signal.aborted) throw gaveUp();
      return await call();
    } finally {
      leave();
    }
  }

  return async <Out>(signal: AbortSignal, call: () => Promise<Out>): Promise<Out> => {
    if (signal.aborted) throw gaveUp();
    await enter(signal);
    const late = Promise.withResolvers<never>();
    const giveUp = () => late.reject(gaveUp());
    signal.addEventListener('abort', giveUp, { once: true });
    const done = run(signal, call);
    done.catch(() => {
      // Reported below, unless nobody waits any more.
    });
    try {
      return await Promise.race([done, late.promise]);
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  };
}

// Bounds the calls that run at the same time.

/**
 * Returns a function that runs a call as soon as there is room, and gives up waiting for it when the signal is aborted. A
 * call that does not end counts until it does.
 */
export function limitCalls(atOnceMax: number, gaveUp: () => Error) {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function start<Out>(call: () => Promise<Out>): Promise<Out> {
    if (running >= atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await call();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }

  return async <Out>(signal: AbortSignal, call: () => Promise<Out>): Promise<Out> => {
    const late = Promise.withResolvers<never>();
    const giveUp = () => late.reject(gaveUp());
    if (signal.aborted) throw gaveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    const done = start(async () => {
      if (signal.aborted) throw gaveUp();
      return call();
    });
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

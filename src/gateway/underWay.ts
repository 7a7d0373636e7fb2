// The exchanges of a run that are under way, so that its end waits until they are counted.
import type { ServerResponse } from 'node:http';

/** An exchange that was ended is counted within milliseconds; one that is not must not hold the end of its run. */
const endMsMax = 2_000;

export interface UnderWay {
  /** The signal is aborted when nobody waits for the response any more, or all must end. */
  run(response: ServerResponse, exchange: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Ends them all. Never rejects. */
  end(): Promise<void>;
}

export function createUnderWay(): UnderWay {
  const living = new Map<AbortController, Promise<void>>();
  return {
    run: (response, exchange) => {
      const left = new AbortController();
      response.once('close', () => left.abort());
      const work = exchange(left.signal).finally(() => living.delete(left));
      living.set(left, work);
      return work;
    },
    end: async () => {
      for (const left of living.keys()) left.abort();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, endMsMax);
      await Promise.race([Promise.allSettled(living.values()), late.promise]);
      clearTimeout(timer);
    },
  };
}

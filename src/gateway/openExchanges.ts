// The open exchanges of a run. The end of the run waits until they are metered.
import type { ServerResponse } from 'node:http';

/** An aborted exchange is metered within milliseconds. One that hangs must not delay the end of its run. */
const endMsMax = 2_000;

export interface OpenExchanges {
  /** The signal is aborted when the response is closed, or when all exchanges must end. */
  run(response: ServerResponse, exchange: (signal: AbortSignal) => Promise<void>): Promise<void>;
  /** Ends them all. Never rejects. */
  end(): Promise<void>;
}

export function createOpenExchanges(): OpenExchanges {
  const open = new Map<AbortController, Promise<void>>();
  return {
    run: (response, exchange) => {
      const left = new AbortController();
      response.once('close', () => left.abort());
      const work = exchange(left.signal).finally(() => open.delete(left));
      open.set(left, work);
      return work;
    },
    end: async () => {
      for (const left of open.keys()) left.abort();
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, endMsMax);
      await Promise.race([Promise.allSettled(open.values()), late.promise]);
      clearTimeout(timer);
    },
  };
}

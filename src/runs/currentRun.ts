// Knows which run the executing code belongs to, so that an uncaught error can be attributed to it. Node keeps the
// store of an AsyncLocalStorage across timers, streams and promises, and while it reports an uncaught exception.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from '../db/transaction.ts';

export interface CurrentRun {
  readonly conversationId: string;
  /** Ends the run after an uncaught error and counts it. Rejects if its processes do not end in time. */
  crash(): Promise<void>;
}

const storage = new AsyncLocalStorage<CurrentRun | undefined>();

/** Attributes everything that `work` starts to the run. */
export function asRun<Out>(run: CurrentRun, work: () => Out): Out {
  return storage.run(run, work);
}

export function currentRun(): CurrentRun | undefined {
  return storage.getStore();
}

function asNoRun<Out>(work: () => Out): Out {
  return storage.getStore() === undefined ? work() : storage.run(undefined, work);
}

/** Wraps the database so that the connections it opens belong to no run, because all runs share them. */
export function sharedByRuns(database: Database): Database {
  return {
    ...database,
    run: (transaction, input, options) => asNoRun(() => database.run(transaction, input, options)),
    notify: (topics) => asNoRun(() => database.notify(topics)),
  };
}

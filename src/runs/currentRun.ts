// Which run the code that executes now belongs to, so that an error that nobody caught can be attributed. Node keeps
// the store of an AsyncLocalStorage through timers, streams and promises, and while it reports an uncaught exception.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from '../db/transaction.ts';

export interface CurrentRun {
  /** The id of its conversation. */
  readonly conversationId: string;
  /**
   * Ends the run after an error that nobody caught, and counts it. Settles when nothing of the run is alive; rejects
   * where that takes too long.
   */
  crash(): Promise<void>;
}

const storage = new AsyncLocalStorage<CurrentRun | undefined>();

/** Whatever the work starts belongs to the run. */
export function asRun<Out>(run: CurrentRun, work: () => Out): Out {
  return storage.run(run, work);
}

export function currentRun(): CurrentRun | undefined {
  return storage.getStore();
}

function asNoRun<Out>(work: () => Out): Out {
  return storage.getStore() === undefined ? work() : storage.run(undefined, work);
}

/** The same database. What it opens or wakes is shared by all, and belongs to no run, whichever uses it first. */
export function sharedByRuns(database: Database): Database {
  return {
    ...database,
    run: (transaction, input, options) => asNoRun(() => database.run(transaction, input, options)),
    ring: (topics) => asNoRun(() => database.ring(topics)),
  };
}

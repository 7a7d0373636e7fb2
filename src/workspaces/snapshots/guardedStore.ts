// The snapshot store as the service uses it: every call first makes sure that it still is the store of this service.
import { type BlobStore, BlobStoreError } from '../../blobs/blobStore.ts';
import type { Database } from '../../db/transaction.ts';
import type { Clock } from '../../process/clock.ts';
import { repeat } from '../../process/repeat.ts';
import { markingFault, markStore, readMarking, WrongStoreError } from './marker.ts';

/** How long the result of a check is used: a file system may be unmounted at any time. */
const checkedForMs = 5_000;
const checkMsMax = 10_000;
const watchedEveryMs = 60_000;
const unusable = 'unusable';

interface GuardOptions {
  readonly database: Database;
  readonly store: BlobStore;
  readonly clock: Pick<Clock, 'steady'>;
}

export interface GuardedStore {
  /** Its calls throw WrongStoreError, without any effect, while the store is not the one of this service. */
  readonly store: BlobStore;
  /** The id of the store, or `unusable`; empty before the first check has ended. All processes with one store have its id. */
  state(): string;
  /** Throws BlobStoreError if the store cannot be read, and WrongStoreError if it is not the one of this service. */
  check(): Promise<void>;
}

export function guardStore({ database, store, clock }: GuardOptions): GuardedStore {
  let checking: Promise<void> | undefined;
  let checkedAt = 0;
  let state = '';

  async function checkNow(): Promise<void> {
    const signal = AbortSignal.timeout(checkMsMax);
    let marking = await readMarking(database, store, signal);
    if (marking.state === 'new') {
      await markStore(database, store, signal);
      // Another process may have written the marker at the same time.
      marking = await readMarking(database, store, signal);
    }
    const fault = markingFault(marking);
    if (fault !== undefined) throw fault;
    state = marking.storeId ?? unusable;
  }

  /** All calls share one check. A store that is down is tried by each call anyway. */
  function check(): Promise<void> {
    if (checking !== undefined && clock.steady() - checkedAt < checkedForMs) return checking;
    const begun = checkNow().catch((error: unknown) => {
      state = unusable;
      if (checking === begun && !(error instanceof WrongStoreError)) checking = undefined;
      throw error;
    });
    checking = begun;
    checkedAt = clock.steady();
    return begun;
  }

  async function guarded<Out>(call: () => Promise<Out>): Promise<Out> {
    await check();
    return call();
  }

  return {
    check,
    state: () => state,
    store: {
      name: store.name,
      put: (...args) => guarded(() => store.put(...args)),
      get: (...args) => guarded(() => store.get(...args)),
      list: (...args) => guarded(() => store.list(...args)),
      remove: (...args) => guarded(() => store.remove(...args)),
      close: store.close,
    },
  };
}

/** Reports once if the store cannot be used, and again after it could be used. */
export function watchStore(
  { check, store }: GuardedStore,
  clock: Pick<Clock, 'every'>,
  report: (error: Error) => void,
) {
  return repeat(check, watchedEveryMs, (error) => report(storeFault(store.name, error)), clock);
}

/** The fault of the store as a sentence for the log. */
function storeFault(name: string, error: Error): Error {
  const remedy = error instanceof BlobStoreError && error.remedy !== undefined ? ` ${error.remedy}` : '';
  return new Error(`The snapshot store ${name} cannot be used: ${error.message}.${remedy}`);
}

/** Whether the store can be read and is the one of this service. */
export async function isUsable({ check }: GuardedStore): Promise<boolean> {
  try {
    await check();
    return true;
  } catch (error) {
    if (error instanceof BlobStoreError) return false;
    throw error;
  }
}

// Keeps rows that are read on every request, and forgets them after a write, here or in another process.
import { createLru } from '../process/lru.ts';
import type { Database } from './transaction.ts';

type Key = string | number;

export interface Cache<Value extends NonNullable<unknown>> {
  find(key: Key): Value | undefined;
  /**
   * Loads a value and keeps it, unless something was written meanwhile: a stale value is never kept. What was not
   * found is not kept either, because anybody can invent keys. Callers that come during a load share its result.
   */
  load(key: Key, loader: () => Promise<Value | undefined>): Promise<Value | undefined>;
  forget(key: Key): void;
  forgetAll(): void;
}

export function createCache<Value extends NonNullable<unknown>>(
  database: Pick<Database, 'onForeignChange'>,
  options: { entriesMax: number },
): Cache<Value> {
  const entries = createLru<Key, Value>(options.entriesMax);
  let loading = new Map<Key, Promise<Value | undefined>>();
  let generation = 0;

  function newGeneration(): void {
    generation += 1;
    // Whoever asks from now on must not get what was read before.
    loading = new Map();
  }

  async function loadNow(key: Key, loader: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const before = generation;
    const mine = loading;
    try {
      const value = await loader();
      if (value !== undefined && generation === before) entries.set(key, value);
      return value;
    } finally {
      mine.delete(key);
    }
  }

  function forgetAll(): void {
    newGeneration();
    entries.clear();
  }

  database.onForeignChange(forgetAll);

  return {
    find: (key) => entries.get(key),
    load: (key, loader) => {
      const under = loading.get(key);
      if (under !== undefined) return under;
      const mine = loading;
      const loaded = loadNow(key, loader);
      mine.set(key, loaded);
      return loaded;
    },
    forget: (key) => {
      newGeneration();
      entries.delete(key);
    },
    forgetAll,
  };
}

// Remembers rows that are read on every request. It forgets when told of a write, here or elsewhere.
import type { Database } from './transaction.ts';

export interface Cache<Value> {
  find(key: string | number): Value | undefined;
  /**
   * Loads and remembers, unless something was written meanwhile: a stale answer is never kept. What was not
   * found is not kept either, for anybody can invent keys.
   */
  load(key: string | number, loader: () => Promise<Value | undefined>): Promise<Value | undefined>;
  forget(key: string | number): void;
}

export function createCache<Value>(database: Database, options: { entriesMax: number }): Cache<Value> {
  const entries = new Map<string | number, Value>();
  let generation = 0;

  database.onForeignChange(() => {
    generation += 1;
    entries.clear();
  });

  return {
    find: (key) => entries.get(key),
    load: async (key, loader) => {
      const before = generation;
      const value = await loader();
      if (value !== undefined && generation === before) {
        if (entries.size >= options.entriesMax) entries.clear();
        entries.set(key, value);
      }
      return value;
    },
    forget: (key) => {
      generation += 1;
      entries.delete(key);
    },
  };
}

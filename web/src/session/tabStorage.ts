// What is kept for as long as the tab. Where the browser forbids that, it is kept until the page is left.

export interface TabStorage {
  get(name: string): string | undefined;
  /** False where there is no room for it; what was there before is gone then. */
  set(name: string, text: string): boolean;
  remove(name: string): void;
  names(): readonly string[];
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export function overStorage(store: Store): TabStorage {
  return {
    get: (name) => store.getItem(name) ?? undefined,
    set: (name, text) => {
      try {
        store.setItem(name, text);
        return true;
      } catch {
        store.removeItem(name);
        return false;
      }
    },
    remove: (name) => store.removeItem(name),
    names: () => Array.from({ length: store.length }, (_, i) => store.key(i) ?? ''),
  };
}

export function inMemory(): TabStorage {
  const texts = new Map<string, string>();
  return {
    get: (name) => texts.get(name),
    set: (name, text) => {
      texts.set(name, text);
      return true;
    },
    remove: (name) => void texts.delete(name),
    names: () => [...texts.keys()],
  };
}

function openStorage(): TabStorage {
  try {
    return overStorage(sessionStorage);
  } catch {
    return inMemory();
  }
}

export const tabStorage = openStorage();

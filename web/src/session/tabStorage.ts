// The storage of this tab (sessionStorage). If the browser forbids it, values are kept in memory until a reload.

export interface TabStorage {
  get(name: string): string | undefined;
  /** Returns false if the value does not fit. The previous value is then gone, too. */
  set(name: string, text: string): boolean;
  remove(name: string): void;
  names(): readonly string[];
}

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export function fromBrowserStorage(store: Store): TabStorage {
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

export function createMemoryStorage(): TabStorage {
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
    return fromBrowserStorage(sessionStorage);
  } catch {
    return createMemoryStorage();
  }
}

export const tabStorage = openStorage();

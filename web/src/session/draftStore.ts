// Text that the user has typed and not sent yet. It is in memory, and in the storage of the tab, so that it survives a
// reload. All components see the same draft.
import type { TabStorage } from './tabStorage.ts';

const prefix = 'parley.draft.';
/** Between the name of a draft and the name of a field that is stored on its own. */
const fieldSeparator = '#';

export interface DraftOptions<Draft> {
  /** Fields that are stored on their own, such as images: a reload loses them if the storage is too small. */
  readonly large?: readonly (keyof Draft & string)[];
  /** Returns the draft without what must not be stored, such as secrets. */
  readonly storable?: (draft: Draft) => Draft;
}

type DraftFields = Readonly<Record<string, unknown>>;

export interface DraftStore {
  /** Returns the same object until the draft changes. */
  find(name: string): DraftFields | undefined;
  put<Draft extends object>(name: string, draft: Draft, options: DraftOptions<Draft>): void;
  remove(name: string): void;
  removeAll(): void;
  names(): readonly string[];
  subscribe(onChange: () => void): () => void;
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toDraftFields(value: unknown): DraftFields | undefined {
  return typeof value === 'object' && value !== null ? (value as DraftFields) : undefined;
}

export function createDraftStore(storage: TabStorage): DraftStore {
  const inMemory = new Map<string, DraftFields | undefined>();
  const listeners = new Set<() => void>();

  const storedKeys = () =>
    storage.names().flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  const storedFieldKeys = (name: string) =>
    storedKeys().filter((key) => key.startsWith(name + fieldSeparator));

  function notify(): void {
    for (const listener of listeners) listener();
  }

  function read(name: string): DraftFields | undefined {
    const small = toDraftFields(parseJson(storage.get(prefix + name)));
    if (small === undefined) return undefined;
    const large = storedFieldKeys(name).map((key) => [
      key.slice(name.length + fieldSeparator.length),
      parseJson(storage.get(prefix + key)),
    ]);
    return { ...small, ...Object.fromEntries(large) };
  }

  function find(name: string): DraftFields | undefined {
    if (!inMemory.has(name)) inMemory.set(name, read(name));
    return inMemory.get(name);
  }

  function store(
    name: string,
    draft: DraftFields,
    before: DraftFields | undefined,
    large: readonly string[],
  ): void {
    const small = Object.entries(draft).filter(([field]) => !large.includes(field));
    storage.set(prefix + name, JSON.stringify(Object.fromEntries(small)));
    for (const field of large)
      if (draft[field] !== before?.[field])
        storage.set(prefix + name + fieldSeparator + field, JSON.stringify(draft[field]));
  }

  function removeStored(name: string): void {
    for (const key of [name, ...storedFieldKeys(name)]) storage.remove(prefix + key);
  }

  return {
    find,
    put: <Draft extends object>(name: string, draft: Draft, options: DraftOptions<Draft>) => {
      const { large = [], storable = (whole: Draft) => whole } = options;
      const before = find(name);
      inMemory.set(name, draft as DraftFields);
      store(name, storable(draft) as DraftFields, before, large);
      notify();
    },
    remove: (name) => {
      inMemory.set(name, undefined);
      removeStored(name);
      notify();
    },
    removeAll: () => {
      inMemory.clear();
      for (const key of storedKeys()) storage.remove(prefix + key);
      notify();
    },
    names: () => {
      const all = new Set([
        ...inMemory.keys(),
        ...storedKeys().map((key) => key.split(fieldSeparator, 1)[0] ?? key),
      ]);
      return [...all].filter((name) => find(name) !== undefined);
    },
    subscribe: (onChange) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

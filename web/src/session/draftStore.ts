// What somebody has typed and not sent: held while the page is open, and stored for as long as the tab, so that it
// outlives a reload and every error. Whoever shows a draft and whoever sends it see the same one.
import type { TabStorage } from './tabStorage.ts';

const prefix = 'parley.draft.';
/** Between the name of a draft and that of a member that is stored by itself. */
const apart = '#';

export interface DraftOptions<Draft> {
  /** Members that are stored by themselves, when they change, and lost on a reload where there is no room: images. */
  readonly large?: readonly (keyof Draft & string)[];
  /** What of it may be stored: all but secrets. */
  readonly storable?: (draft: Draft) => Draft;
}

type Members = Readonly<Record<string, unknown>>;

export interface DraftStore {
  /** Undefined where nothing was typed. It stays the same object until it is changed. */
  find(name: string): Members | undefined;
  put<Draft extends object>(name: string, draft: Draft, options: DraftOptions<Draft>): void;
  remove(name: string): void;
  removeAll(): void;
  names(): readonly string[];
  subscribe(onChange: () => void): () => void;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toMembers(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null ? (value as Members) : undefined;
}

export function createDraftStore(storage: TabStorage): DraftStore {
  const held = new Map<string, Members | undefined>();
  const listeners = new Set<() => void>();

  const stored = () =>
    storage.names().flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));
  const storedOf = (name: string) => stored().filter((key) => key.startsWith(name + apart));

  function tell(): void {
    for (const listener of listeners) listener();
  }

  function read(name: string): Members | undefined {
    const small = toMembers(parsed(storage.get(prefix + name)));
    if (small === undefined) return undefined;
    const large = storedOf(name).map((key) => [
      key.slice(name.length + apart.length),
      parsed(storage.get(prefix + key)),
    ]);
    return { ...small, ...Object.fromEntries(large) };
  }

  function find(name: string): Members | undefined {
    if (!held.has(name)) held.set(name, read(name));
    return held.get(name);
  }

  function store(name: string, draft: Members, before: Members | undefined, large: readonly string[]): void {
    const small = Object.entries(draft).filter(([member]) => !large.includes(member));
    storage.set(prefix + name, JSON.stringify(Object.fromEntries(small)));
    for (const member of large)
      if (draft[member] !== before?.[member])
        storage.set(prefix + name + apart + member, JSON.stringify(draft[member]));
  }

  function removeStored(name: string): void {
    for (const key of [name, ...storedOf(name)]) storage.remove(prefix + key);
  }

  return {
    find,
    put: <Draft extends object>(name: string, draft: Draft, options: DraftOptions<Draft>) => {
      const { large = [], storable = (whole: Draft) => whole } = options;
      const before = find(name);
      held.set(name, draft as Members);
      store(name, storable(draft) as Members, before, large);
      tell();
    },
    remove: (name) => {
      held.set(name, undefined);
      removeStored(name);
      tell();
    },
    removeAll: () => {
      held.clear();
      for (const key of stored()) storage.remove(prefix + key);
      tell();
    },
    names: () => {
      const all = new Set([...held.keys(), ...stored().map((key) => key.split(apart, 1)[0] ?? key)]);
      return [...all].filter((name) => find(name) !== undefined);
    },
    subscribe: (onChange) => {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
  };
}

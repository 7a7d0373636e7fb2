// Whose the drafts of this tab are once somebody was led out: what was typed is only for the one who typed it.
import type { DraftStore } from './draftStore.ts';
import type { TabStorage } from './tabStorage.ts';

const stored = 'parley.typist';
const keyText = /^pk_([0-9a-f]{16})_/;

/** The part of a key that is no secret. */
function keyIdOf(key: string): string | undefined {
  return keyText.exec(key)?.[1];
}

interface Parts {
  readonly storage: TabStorage;
  readonly drafts: Pick<DraftStore, 'names' | 'removeAll'>;
}

export function createTypist({ storage, drafts }: Parts) {
  function forget(): void {
    drafts.removeAll();
    storage.remove(stored);
  }

  const isTypedBy = (key: string) => storage.get(stored) === (keyIdOf(key) ?? '');

  return {
    /** What they typed waits for them. */
    ledOut: (key: string): void => {
      const id = keyIdOf(key);
      if (id === undefined) forget();
      else if (drafts.names().length > 0) storage.set(stored, id);
    },
    /** Whether it is the one who was led out that comes with this key. `ownKeys` are the ids of all of theirs, ever. */
    isBack: async (key: string, ownKeys: () => Promise<readonly string[]>): Promise<boolean> => {
      const before = storage.get(stored);
      if (before === undefined || isTypedBy(key)) return before !== undefined;
      return ownKeys().then(
        (ids) => ids.includes(before),
        () => false,
      );
    },
    /** By default they are back where it is the same key. */
    cameIn: (key: string, isBack = isTypedBy(key)): void => {
      if (isBack) storage.remove(stored);
      else forget();
    },
    forget,
  };
}

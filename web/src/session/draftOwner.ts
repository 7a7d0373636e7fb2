// Remembers who wrote the drafts of this tab when the service refuses their key: nobody else may see them.
import type { DraftStore } from './draftStore.ts';
import type { TabStorage } from './tabStorage.ts';

const storageKey = 'parley.draftOwner';
const userKey = 'parley.user';
const keyText = /^pk_([0-9a-f]{16})_/;

function userOwnerId(user: string | undefined): string | undefined {
  return user === undefined ? undefined : `user:${user}`;
}

/** The part of a key that is not secret. */
function keyIdOf(key: string): string | undefined {
  return keyText.exec(key)?.[1];
}

interface Dependencies {
  readonly storage: TabStorage;
  readonly drafts: Pick<DraftStore, 'names' | 'removeAll'>;
}

export function createDraftOwner({ storage, drafts }: Dependencies) {
  function deleteDrafts(): void {
    drafts.removeAll();
    storage.remove(storageKey);
    storage.remove(userKey);
  }

  /** Each sign-in has another session, so that the drafts belong to its user. */
  const ownerIdOf = (key: string) => keyIdOf(key) ?? userOwnerId(storage.get(userKey));
  const isOwnersKey = (key: string) => storage.get(storageKey) === (keyIdOf(key) ?? '');

  return {
    /** Keeps the drafts until the user of this key signs in again. */
    keepDraftsFor: (key: string): void => {
      const id = ownerIdOf(key);
      if (id === undefined) deleteDrafts();
      else if (drafts.names().length > 0) storage.set(storageKey, id);
    },
    /** Whether the key belongs to the user who wrote the drafts. `listKeyIds` returns the ids of all keys of its user. */
    isOwner: async (key: string, listKeyIds: () => Promise<readonly string[]>): Promise<boolean> => {
      const ownerId = storage.get(storageKey);
      if (ownerId === undefined || isOwnersKey(key)) return ownerId !== undefined;
      return listKeyIds().then(
        (ids) => ids.includes(ownerId),
        () => false,
      );
    },
    /** Deletes the drafts unless their owner signed in. */
    signedIn: (key: string, isOwner = isOwnersKey(key)): void => {
      if (isOwner) storage.remove(storageKey);
      else deleteDrafts();
    },
    /** Whether the drafts belong to this user, who has signed in with the provider. */
    isUser: (user: string): boolean => storage.get(storageKey) === userOwnerId(user),
    rememberUser: (user: string): void => void storage.set(userKey, user),
    deleteDrafts,
  };
}

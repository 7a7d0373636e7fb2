import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDraftOwner } from './draftOwner.ts';
import { createDraftStore } from './draftStore.ts';
import { createMemoryStorage } from './tabStorage.ts';

const keyOf = (digit: string) => `pk_${digit.repeat(16)}_secret`;
const [own, other] = [keyOf('1'), keyOf('2')];
const none = async () => [];

/** Somebody writes a draft with the key, which the service then refuses. */
function draftsOfRefusedKey(key = own) {
  const storage = createMemoryStorage();
  const drafts = createDraftStore(storage);
  const owner = createDraftOwner({ storage, drafts });
  drafts.put('home', { message: 'mine' }, {});
  owner.keepDraftsFor(key);
  return { storage, drafts, owner };
}

describe('drafts of a user whose key is refused', () => {
  it('are kept for the same key', async () => {
    const { storage, drafts, owner } = draftsOfRefusedKey();
    assert.equal(await owner.isOwner(own, none), true);
    owner.signedIn(own);
    assert.deepEqual([drafts.names(), storage.get('parley.draftOwner')], [['home'], undefined]);
  });

  it('are kept for another key of the same user', async () => {
    const { drafts, owner } = draftsOfRefusedKey();
    const isOwner = await owner.isOwner(other, async () => ['2'.repeat(16), '1'.repeat(16)]);
    owner.signedIn(other, isOwner);
    assert.deepEqual(drafts.names(), ['home']);
  });

  it('are deleted when another user signs in, or when the user cannot be determined', async () => {
    const refused = async () => {
      throw new Error('forbidden');
    };
    for (const ownKeys of [none, async () => ['2'.repeat(16)], refused]) {
      const { storage, drafts, owner } = draftsOfRefusedKey();
      owner.signedIn(other, await owner.isOwner(other, ownKeys));
      assert.deepEqual([drafts.names(), storage.names()], [[], []]);
    }
    const withoutCheck = draftsOfRefusedKey();
    withoutCheck.owner.signedIn(other);
    assert.deepEqual(withoutCheck.drafts.names(), []);
    assert.deepEqual(draftsOfRefusedKey('a key of another kind').storage.names(), []);
  });

  it('leave nothing in storage if there are none', () => {
    const storage = createMemoryStorage();
    createDraftOwner({ storage, drafts: createDraftStore(storage) }).keepDraftsFor(own);
    assert.deepEqual(storage.names(), []);
  });

  it('are kept for the same user, if a session has ended', async () => {
    const token = 'ps_0000000000000000_secret';
    const { storage, drafts, owner } = draftsOfRefusedKey();
    owner.signedIn(token, true);
    owner.rememberUser('ada');
    owner.keepDraftsFor(token);
    assert.deepEqual([owner.isUser('ada'), owner.isUser('bob')], [true, false]);
    owner.signedIn('ps_1111111111111111_secret', owner.isUser('ada'));
    assert.deepEqual(drafts.names(), ['home']);
    owner.rememberUser('ada');
    owner.keepDraftsFor(token);
    owner.signedIn('ps_2222222222222222_secret', owner.isUser('bob'));
    assert.deepEqual([drafts.names(), storage.get('parley.user')], [[], undefined]);
  });
});

// For whom what was typed is kept.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDraftStore } from './draftStore.ts';
import { inMemory } from './tabStorage.ts';
import { createTypist } from './typist.ts';

const keyOf = (digit: string) => `pk_${digit.repeat(16)}_secret`;
const [own, other] = [keyOf('1'), keyOf('2')];
const none = async () => [];

/** Somebody with the first key has typed something, and is led out. */
function ledOut(key = own) {
  const storage = inMemory();
  const drafts = createDraftStore(storage);
  const typist = createTypist({ storage, drafts });
  drafts.put('home', { message: 'mine' }, {});
  typist.ledOut(key);
  return { storage, drafts, typist };
}

describe('what was typed', () => {
  it('waits for the same key', async () => {
    const { storage, drafts, typist } = ledOut();
    assert.equal(await typist.isBack(own, none), true);
    typist.cameIn(own);
    assert.deepEqual([drafts.names(), storage.get('parley.typist')], [['home'], undefined]);
  });

  it('waits for another key of the same user', async () => {
    const { drafts, typist } = ledOut();
    const isBack = await typist.isBack(other, async () => ['2'.repeat(16), '1'.repeat(16)]);
    typist.cameIn(other, isBack);
    assert.deepEqual(drafts.names(), ['home']);
  });

  it('is gone for anybody else, and where nobody can tell', async () => {
    const refused = async () => {
      throw new Error('forbidden');
    };
    for (const ownKeys of [none, async () => ['2'.repeat(16)], refused]) {
      const { storage, drafts, typist } = ledOut();
      typist.cameIn(other, await typist.isBack(other, ownKeys));
      assert.deepEqual([drafts.names(), storage.names()], [[], []]);
    }
    const byLink = ledOut();
    byLink.typist.cameIn(other);
    assert.deepEqual(byLink.drafts.names(), []);
    assert.deepEqual(ledOut('a key of another kind').storage.names(), []);
  });

  it('leaves nothing where nothing was', () => {
    const storage = inMemory();
    createTypist({ storage, drafts: createDraftStore(storage) }).ledOut(own);
    assert.deepEqual(storage.names(), []);
  });
});

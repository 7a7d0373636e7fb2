// What is kept of what somebody types, and what is not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDraftStore } from './draftStore.ts';
import { inMemory, overStorage, type TabStorage } from './tabStorage.ts';

interface Draft {
  readonly text: string;
  readonly images: readonly string[];
}

const large = { large: ['images'] as const };

/** Counts what is written, by name. */
function counted(storage: TabStorage) {
  const writes: string[] = [];
  const set = (name: string, text: string) => {
    writes.push(name);
    return storage.set(name, text);
  };
  return { storage: { ...storage, set }, writes };
}

/** As a browser has it: with room for so many characters. */
function bounded(charsMax: number): TabStorage {
  const texts = new Map<string, string>();
  return overStorage({
    get length() {
      return texts.size;
    },
    key: (i) => [...texts.keys()][i] ?? null,
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => {
      if (text.length > charsMax) throw new Error('no room');
      texts.set(name, text);
    },
    removeItem: (name) => void texts.delete(name),
  });
}

describe('drafts', () => {
  it('outlive a reload', () => {
    const storage = inMemory();
    createDraftStore(storage).put<Draft>('home', { text: 'a', images: ['x'] }, large);
    assert.deepEqual(createDraftStore(storage).find('home'), { text: 'a', images: ['x'] });
  });

  it('keep the text where there is no room for the images, and hold both while the page is open', () => {
    const storage = bounded(100);
    const drafts = createDraftStore(storage);
    drafts.put<Draft>('home', { text: 'a', images: ['small'] }, large);
    drafts.put<Draft>('home', { text: 'ab', images: ['x'.repeat(100)] }, large);
    assert.deepEqual(drafts.find('home'), { text: 'ab', images: ['x'.repeat(100)] });
    assert.deepEqual(createDraftStore(storage).find('home'), { text: 'ab' });
  });

  it('write images only when they change', () => {
    const { storage, writes } = counted(inMemory());
    const drafts = createDraftStore(storage);
    const images = ['x'];
    for (const text of ['a', 'ab', 'abc']) drafts.put<Draft>('home', { text, images }, large);
    assert.equal(writes.filter((name) => name.endsWith('#images')).length, 1);
    drafts.put<Draft>('home', { text: 'abc', images: [] }, large);
    assert.deepEqual(createDraftStore(storage).find('home'), { text: 'abc', images: [] });
  });

  it('store no more than may be stored', () => {
    const storage = inMemory();
    const drafts = createDraftStore(storage);
    const storable = (draft: Draft) => ({ ...draft, text: '' });
    drafts.put<Draft>('home', { text: 'pass word', images: [] }, { storable });
    assert.equal(drafts.find('home')?.['text'], 'pass word');
    assert.doesNotMatch(storage.names().map(storage.get).join(), /pass word/);
  });

  it('are gone once they are removed, one or all, with what was stored', () => {
    const storage = inMemory();
    const drafts = createDraftStore(storage);
    storage.set('parley.key', 'k');
    for (const name of ['a', 'b', 'c']) drafts.put<Draft>(name, { text: name, images: ['x'] }, large);
    drafts.remove('a');
    assert.deepEqual([drafts.find('a'), drafts.names()], [undefined, ['b', 'c']]);
    assert.deepEqual(createDraftStore(storage).names(), ['b', 'c']);
    drafts.removeAll();
    assert.deepEqual([drafts.names(), storage.names()], [[], ['parley.key']]);
  });

  it('tell everybody who shows them', () => {
    const drafts = createDraftStore(inMemory());
    let told = 0;
    const end = drafts.subscribe(() => told++);
    drafts.put<Draft>('home', { text: 'a', images: [] }, {});
    drafts.remove('home');
    end();
    drafts.put<Draft>('home', { text: 'b', images: [] }, {});
    assert.equal(told, 2);
  });

  it('are none where what is stored is not one', () => {
    const storage = inMemory();
    storage.set('parley.draft.home', '{"text":');
    storage.set('parley.draft.other', 'null');
    assert.deepEqual(createDraftStore(storage).names(), []);
  });
});

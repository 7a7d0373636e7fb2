import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDraftStore } from './draftStore.ts';
import { createMemoryStorage, fromBrowserStorage, type TabStorage } from './tabStorage.ts';

interface Draft {
  readonly text: string;
  readonly images: readonly string[];
}

const large = { large: ['images'] as const };

/** Records the name of each write. */
function recordWrites(storage: TabStorage) {
  const writes: string[] = [];
  const set = (name: string, text: string) => {
    writes.push(name);
    return storage.set(name, text);
  };
  return { storage: { ...storage, set }, writes };
}

/** A browser storage that takes at most so many characters. */
function boundedStorage(charsMax: number): TabStorage {
  const texts = new Map<string, string>();
  return fromBrowserStorage({
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
  it('survive a reload', () => {
    const storage = createMemoryStorage();
    createDraftStore(storage).put<Draft>('home', { text: 'a', images: ['x'] }, large);
    assert.deepEqual(createDraftStore(storage).find('home'), { text: 'a', images: ['x'] });
  });

  it('keep their text after a reload if the images do not fit, and both until then', () => {
    const storage = boundedStorage(100);
    const drafts = createDraftStore(storage);
    drafts.put<Draft>('home', { text: 'a', images: ['small'] }, large);
    drafts.put<Draft>('home', { text: 'ab', images: ['x'.repeat(100)] }, large);
    assert.deepEqual(drafts.find('home'), { text: 'ab', images: ['x'.repeat(100)] });
    assert.deepEqual(createDraftStore(storage).find('home'), { text: 'ab' });
  });

  it('write images to storage only when they change', () => {
    const { storage, writes } = recordWrites(createMemoryStorage());
    const drafts = createDraftStore(storage);
    const images = ['x'];
    for (const text of ['a', 'ab', 'abc']) drafts.put<Draft>('home', { text, images }, large);
    assert.equal(writes.filter((name) => name.endsWith('#images')).length, 1);
    drafts.put<Draft>('home', { text: 'abc', images: [] }, large);
    assert.deepEqual(createDraftStore(storage).find('home'), { text: 'abc', images: [] });
  });

  it('do not store what must not be stored', () => {
    const storage = createMemoryStorage();
    const drafts = createDraftStore(storage);
    const storable = (draft: Draft) => ({ ...draft, text: '' });
    drafts.put<Draft>('home', { text: 'pass word', images: [] }, { storable });
    assert.equal(drafts.find('home')?.['text'], 'pass word');
    assert.doesNotMatch(storage.names().map(storage.get).join(), /pass word/);
  });

  it('can be removed one by one or all at once, in memory and in storage', () => {
    const storage = createMemoryStorage();
    const drafts = createDraftStore(storage);
    storage.set('parley.key', 'k');
    for (const name of ['a', 'b', 'c']) drafts.put<Draft>(name, { text: name, images: ['x'] }, large);
    drafts.remove('a');
    assert.deepEqual([drafts.find('a'), drafts.names()], [undefined, ['b', 'c']]);
    assert.deepEqual(createDraftStore(storage).names(), ['b', 'c']);
    drafts.removeAll();
    assert.deepEqual([drafts.names(), storage.names()], [[], ['parley.key']]);
  });

  it('notify subscribers of changes', () => {
    const drafts = createDraftStore(createMemoryStorage());
    let notified = 0;
    const end = drafts.subscribe(() => notified++);
    drafts.put<Draft>('home', { text: 'a', images: [] }, {});
    drafts.remove('home');
    end();
    drafts.put<Draft>('home', { text: 'b', images: [] }, {});
    assert.equal(notified, 2);
  });

  it('ignore stored text that is not a draft', () => {
    const storage = createMemoryStorage();
    storage.set('parley.draft.home', '{"text":');
    storage.set('parley.draft.other', 'null');
    assert.deepEqual(createDraftStore(storage).names(), []);
  });
});

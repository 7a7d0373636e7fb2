import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLru } from './lru.ts';

describe('a cache with a limit', () => {
  it('forgets what was used least recently when it is full', () => {
    const cache = createLru<string, number>(2);
    cache.set('first', 1);
    cache.set('second', 2);
    cache.get('first');
    cache.set('third', 3);
    assert.deepEqual([...cache.keys()].toSorted(), ['first', 'third']);
    cache.set('third', 4);
    assert.equal(cache.size, 2, 'a value that replaces another takes no room');
  });

  it('holds as many entries as it may, and no more', () => {
    const cache = createLru<number, number>(1_000);
    for (let key = 0; key < 2_500; key++) cache.set(key, key);
    assert.equal(cache.size, 1_000);
    assert.equal(cache.get(1_499), undefined);
    assert.equal(cache.get(1_500), 1_500);
  });
});

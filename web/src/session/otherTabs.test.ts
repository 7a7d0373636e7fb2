// How a key comes from one tab to another.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { borrowKey, lendKey } from './otherTabs.ts';

/** What a new tab gets while these are open; undefined where it gets nothing. */
async function borrowedFrom(...keys: readonly string[]): Promise<string | undefined> {
  const ends = keys.map(lendKey);
  const { promise, resolve } = Promise.withResolvers<string>();
  const end = borrowKey(resolve);
  const key = await Promise.race([promise, new Promise<undefined>((late) => setTimeout(late, 500))]);
  for (const stop of [...ends, end]) stop();
  return key;
}

describe('a new tab', () => {
  it('gets the key of those that are open, where they have the same', async () => {
    assert.equal(await borrowedFrom('pk_a', 'pk_a'), 'pk_a');
  });

  it('gets none where they have different ones', async () => {
    assert.equal(await borrowedFrom('pk_a', 'pk_b'), undefined);
  });
});

// How one tab learns the keys of the others.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askOtherTabs, lendKey } from './otherTabs.ts';

/** The keys that a new tab hears of while tabs with these are open. */
async function heardFrom(...keys: readonly string[]): Promise<readonly string[]> {
  const ends = keys.map(lendKey);
  const { promise, resolve } = Promise.withResolvers<ReadonlySet<string>>();
  const end = askOtherTabs(resolve);
  const heard = await promise;
  for (const stop of [...ends, end]) stop();
  return [...heard].sort();
}

describe('a new tab', () => {
  it('hears of the key of every open tab', async () => {
    assert.deepEqual(await heardFrom('pk_a', 'pk_a'), ['pk_a']);
    assert.deepEqual(await heardFrom('pk_a', 'pk_b'), ['pk_a', 'pk_b']);
  });

  it('hears of none where no other tab is open', async () => {
    assert.deepEqual(await heardFrom(), []);
  });
});

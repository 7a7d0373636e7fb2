import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requestKeys, shareKey } from './otherTabs.ts';

/** Returns the keys that a new tab receives while tabs with the given keys are open. */
async function keysFrom(...keys: readonly string[]): Promise<readonly string[]> {
  const ends = keys.map(shareKey);
  const { promise, resolve } = Promise.withResolvers<ReadonlySet<string>>();
  const end = requestKeys(resolve);
  const received = await promise;
  for (const stop of [...ends, end]) stop();
  return [...received].sort();
}

describe('a new tab', () => {
  it('receives the key of every open tab', async () => {
    assert.deepEqual(await keysFrom('pk_a', 'pk_a'), ['pk_a']);
    assert.deepEqual(await keysFrom('pk_a', 'pk_b'), ['pk_a', 'pk_b']);
  });

  it('receives no key if no other tab is open', async () => {
    assert.deepEqual(await keysFrom(), []);
  });
});

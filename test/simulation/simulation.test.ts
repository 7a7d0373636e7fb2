// A few simulations in every test run; `npm run test:simulation` runs thousands.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openBench, simulate } from './simulate.ts';

describe('the simulation', () => {
  it('breaks no promise in twenty seeds', async () => {
    const bench = await openBench();
    for (let seed = 1; seed <= 20; seed++) {
      const { violation, trace } = await simulate(bench, seed);
      assert.equal(violation, undefined, `seed ${seed}\n${trace.slice(-40).join('\n')}`);
    }
  });

  // Seed 3 sends webhooks, whose retries are spread at random.
  it('repeats seeds exactly, whatever ran before them', async () => {
    const bench = await openBench();
    const digests = new Map<number, number>();
    for (const seed of [1, 3, 7]) digests.set(seed, (await simulate(bench, seed)).digest);
    for (const seed of [7, 3, 1]) assert.equal((await simulate(bench, seed)).digest, digests.get(seed));
    assert.equal(new Set(digests.values()).size, digests.size);
  });
});

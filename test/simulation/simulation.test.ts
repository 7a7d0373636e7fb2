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

  it('repeats a seed exactly', async () => {
    const bench = await openBench();
    const first = await simulate(bench, 7);
    const again = await simulate(bench, 7);
    assert.equal(again.digest, first.digest);
    assert.equal(again.steps, first.steps);
    assert.notEqual((await simulate(bench, 8)).digest, first.digest);
  });
});

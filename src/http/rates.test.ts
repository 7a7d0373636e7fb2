import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bucketsMax, createRateLimiter } from './rates.ts';

describe('createRateLimiter', () => {
  function limiter(count: number) {
    let time = 1_000_000;
    let sharing = 1;
    const rate = { count, perMs: 1_000, limit: `${count} a second`, sharing: () => sharing };
    const rates = createRateLimiter(rate, () => time);
    return { rates, share: (processes: number) => (sharing = processes), pass: (ms: number) => (time += ms) };
  }

  it('gives as many tokens as it counts, then none until time has passed', () => {
    const { rates, pass } = limiter(2);
    assert.deepEqual([rates.take('a'), rates.take('a')], [undefined, undefined]);
    const refused = rates.take('a');
    assert.equal(refused?.code, 'rate_limited');
    assert.equal(refused?.retryAfterS, 1);
    pass(500);
    assert.equal(rates.take('a'), undefined);
    assert.notEqual(rates.take('a'), undefined);
  });

  it('counts each key for itself', () => {
    const { rates } = limiter(1);
    assert.deepEqual([rates.take('a'), rates.take('b')], [undefined, undefined]);
    assert.notEqual(rates.take('a'), undefined);
  });

  it('does not forget a key in use when too many others appear', () => {
    const { rates } = limiter(1);
    assert.equal(rates.take('busy'), undefined);
    for (let n = 0; n < 2 * bucketsMax; n += 1) {
      rates.take(`other ${n}`);
      if (n % 1_000 === 0) assert.notEqual(rates.take('busy'), undefined);
    }
    assert.equal(rates.take('other 0'), undefined);
  });

  it('never saves up more than one burst, and takes a token back', () => {
    const { rates, pass } = limiter(1);
    pass(60_000);
    assert.equal(rates.take('a'), undefined);
    assert.notEqual(rates.take('a'), undefined);
    rates.giveBack('a');
    assert.equal(rates.take('a'), undefined);
  });

  it('never refuses with a count of 0', () => {
    const { rates } = limiter(0);
    for (let i = 0; i < 1_000; i++) assert.equal(rates.take('a'), undefined);
  });

  it('gives each process its share, and follows when processes join and leave', () => {
    const { rates, share, pass } = limiter(4);
    const allowed = () => {
      let count = 0;
      while (rates.take('a') === undefined) count += 1;
      return count;
    };
    share(2);
    assert.equal(allowed(), 2);
    pass(1_000);
    assert.equal(allowed(), 2);
    pass(1_000);
    share(4);
    assert.equal(allowed(), 1, 'what was saved up is cut to the new share');
    share(1);
    pass(1_000);
    assert.equal(allowed(), 4);
  });

  it('lets one request through in turn if there are more processes than requests', () => {
    const { rates, share, pass } = limiter(2);
    share(8);
    assert.equal(rates.take('a'), undefined);
    assert.equal(rates.take('a')?.retryAfterS, 4);
    pass(3_999);
    assert.notEqual(rates.take('a'), undefined);
    pass(1);
    assert.equal(rates.take('a'), undefined);
  });

  it('gives no free tokens when the clock steps back', () => {
    const { rates, pass } = limiter(1);
    rates.take('a');
    pass(-5_000);
    assert.notEqual(rates.take('a'), undefined);
  });
});

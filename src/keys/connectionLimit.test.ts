import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConnectionLimit, userShareMin } from './connectionLimit.ts';

const [a, b] = [{ userId: 1 }, { userId: 2 }];

describe('the limit of connections', () => {
  it('counts each user, and each connection once', () => {
    const { open } = createConnectionLimit({ what: 'streams', max: 10, perUserMax: 2 });
    const close = open(a);
    open(a);
    assert.throws(() => open(a), { code: 'rate_limited', retryAfterS: 5 });
    open(b);
    close();
    close();
    open(a);
    assert.throws(() => open(a), { code: 'rate_limited' });
  });

  it('is divided by the processes that share it, down to a minimum', () => {
    let processes = 2;
    const { open } = createConnectionLimit({
      what: 'streams',
      max: 100,
      perUserMax: 30,
      sharing: () => processes,
    });
    const closes = Array.from({ length: 15 }, () => open(a));
    assert.throws(() => open(a), { code: 'rate_limited' });
    processes = 100;
    // Open ones stay, and no new one is allowed before they are below the new share.
    for (let left = closes.length; left >= userShareMin; left--) {
      assert.throws(() => open(a), { code: 'rate_limited' });
      closes[left - 1]?.();
    }
    open(a);
    assert.throws(() => open(a), { code: 'rate_limited' });
  });

  it('counts all users of the process', () => {
    const { open } = createConnectionLimit({ what: 'streams', max: 2, perUserMax: 0 });
    const close = open(a);
    open(a);
    assert.throws(() => open(b), { code: 'overloaded', retryAfterS: 5 });
    close();
    open(b);
  });
});

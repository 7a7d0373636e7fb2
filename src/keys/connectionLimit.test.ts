import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConnectionLimit } from './connectionLimit.ts';

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

  it('counts all users of the process', () => {
    const { open } = createConnectionLimit({ what: 'streams', max: 2, perUserMax: 0 });
    const close = open(a);
    open(a);
    assert.throws(() => open(b), { code: 'overloaded', retryAfterS: 5 });
    close();
    open(b);
  });
});

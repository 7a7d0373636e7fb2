import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limitCalls } from './limitCalls.ts';

const gaveUp = () => new Error('gave up');

/** Calls that end when they are told to, and the order in which they began. */
function createCalls() {
  const begun: string[] = [];
  const call = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const start = () => {
      begun.push(name);
      return promise;
    };
    return { start, end: () => resolve(name) };
  };
  return { begun, call };
}

describe('calls that are limited', () => {
  const { signal } = new AbortController();

  it('run one after the other if there is room for one, also after a failure', async () => {
    const limit = limitCalls(1, gaveUp);
    const { begun, call } = createCalls();
    const [first, second] = [call('first'), call('second')];
    const failed = limit(signal, () => Promise.reject(new Error('broken')));
    const results = [limit(signal, first.start), limit(signal, second.start)];
    await assert.rejects(failed, /broken/);
    first.end();
    assert.equal(await results[0], 'first');
    second.end();
    assert.equal(await results[1], 'second');
    assert.deepEqual(begun, ['first', 'second']);
  });

  it('never begin once their caller has given up, and make no room that is not there', async () => {
    const limit = limitCalls(1, gaveUp);
    const { begun, call } = createCalls();
    const [hanging, waiting, next] = [call('hanging'), call('waiting'), call('next')];
    const stop = new AbortController();
    const results = [limit(stop.signal, hanging.start), limit(stop.signal, waiting.start)];
    const last = limit(signal, next.start);
    await turn();
    stop.abort();
    for (const result of results) await assert.rejects(result, /gave up/);
    await assert.rejects(limit(stop.signal, waiting.start), /gave up/);
    assert.deepEqual(begun, ['hanging'], 'a call that hangs still counts');
    hanging.end();
    next.end();
    assert.equal(await last, 'next');
    assert.deepEqual(begun, ['hanging', 'next']);
  });
});

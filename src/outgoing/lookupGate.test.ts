import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitLookups } from './lookupGate.ts';
import type { Lookup } from './resolve.ts';

function slowLookup() {
  const open = new Map<string, () => void>();
  const lookup: Lookup = (hostname) =>
    new Promise((resolve) => open.set(hostname, () => resolve([{ address: '192.0.2.1', family: 4 }])));
  return { lookup, open };
}

const settled = () => new Promise(setImmediate);

describe('limited lookups', () => {
  it('are limited in number, and the next starts when one has ended', async () => {
    const { lookup, open } = slowLookup();
    const limited = limitLookups(lookup, { atOnceMax: 2, waitingMax: 10 });
    const all = ['a', 'b', 'c'].map((name) => limited(name));
    await settled();
    assert.deepEqual([...open.keys()], ['a', 'b']);
    open.get('b')?.();
    await all[1];
    await settled();
    assert.deepEqual([...open.keys()], ['a', 'b', 'c']);
    open.get('a')?.();
    open.get('c')?.();
    assert.equal((await Promise.all(all)).length, 3);
  });

  it('are refused if too many wait', async () => {
    const { lookup, open } = slowLookup();
    const limited = limitLookups(lookup, { atOnceMax: 1, waitingMax: 1 });
    const first = limited('a');
    const second = limited('b');
    await assert.rejects(limited('c'), { code: 'timeout' });
    await settled();
    open.get('a')?.();
    await first;
    await settled();
    open.get('b')?.();
    await second;
  });

  it('time out, and keep their slot until they have ended', async () => {
    const { lookup, open } = slowLookup();
    const limited = limitLookups(lookup, { atOnceMax: 1, waitingMax: 5, timeoutMs: 10 });
    await assert.rejects(limited('slow'), { code: 'timeout' });
    const next = limited('next');
    await settled();
    assert.ok(!open.has('next'));
    open.get('slow')?.();
    await settled();
    open.get('next')?.();
    await next;
  });
});

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { withProvider } from '../../test/support/gateway.ts';
import { until } from '../../test/support/until.ts';
import { defaultBounds } from './bounds.ts';
import { createGate } from './gate.ts';
import { createReadRateLimit } from './readRateLimit.ts';

describe('concurrent model requests of a run', () => {
  it('are sixteen at most; others wait, and all are answered', async (t) => {
    const held: ServerResponse[] = [];
    let most = 0;
    const { ask, provider } = await withProvider(t, (_, response) => {
      held.push(response);
      most = Math.max(most, held.length);
    });
    const asking = Promise.all(Array.from({ length: 40 }, () => ask()));
    let answered = 0;
    await until('as many as may are under way', () => held.length === 16);
    while (answered < 40) {
      await until('another one comes', () => held.length > 0);
      answered += 1;
      held.shift()?.end('{}');
    }
    assert.ok((await asking).every(({ status }) => status === 200));
    assert.deepEqual([most, provider.requests.length], [16, 40]);
  });

  it('are answered with 429 if too many wait', async (t) => {
    const held: ServerResponse[] = [];
    const { ask } = await withProvider(t, (_, response) => void held.push(response), {
      bounds: { requestsMax: 1, waitingMax: 0 },
    });
    const first = ask();
    await until('it is under way', () => held.length === 1);
    assert.equal((await ask()).status, 429);
    held[0]?.end('{}');
    assert.equal((await first).status, 200);
  });

  it('leave the queue if they are aborted before their turn, and free their slot if they fail', async () => {
    const gate = createGate({ ...defaultBounds, requestsMax: 1, waitingMax: 2 });
    const stays = new AbortController().signal;
    const leaves = new AbortController();
    const first = Promise.withResolvers<void>();
    const done: string[] = [];
    const work = (name: string) => async () => void done.push(name);
    const failing = gate.pass(stays, () => first.promise);
    const leaving = gate.pass(leaves.signal, work('left'));
    const waiting = gate.pass(stays, work('waited'));
    leaves.abort();
    await assert.rejects(leaving, { name: 'AbortError' });
    first.reject(new Error('no'));
    await assert.rejects(failing, { message: 'no' });
    await waiting;
    await gate.pass(stays, work('last'));
    await assert.rejects(gate.pass(leaves.signal, work('left')), { name: 'AbortError' });
    assert.deepEqual(done, ['waited', 'last']);
  });
});

describe('the read rate limit of a run', () => {
  const bounds = { ...defaultBounds, bytesPerSecondMax: 1_000, busyShareMax: 0.25 };

  it('does not slow down normal answers', () => {
    let now = 0;
    const pace = createReadRateLimit(bounds, () => now);
    for (; now < 10_000; now += 100) assert.equal(pace.take(100, 1), 0);
  });

  it('limits a flood to the configured bytes per second', () => {
    let now = 0;
    const pace = createReadRateLimit(bounds, () => now);
    for (let i = 0; i < 100; i++) now += pace.take(100, 0);
    assert.equal(now, 100 * 100 - 250);
  });

  it('limits expensive pieces to their share of CPU time', () => {
    let now = 0;
    const pace = createReadRateLimit(bounds, () => now);
    for (let i = 0; i < 100; i++) {
      now += 10;
      now += pace.take(1, 10);
    }
    assert.equal(now, 10 + 100 * 40 - 250);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../../src/client/parley.ts';
import { startSubscription } from './subscription.ts';

/** Throws the errors one after the other, then reads until it is closed. */
function subscribeWith(...errors: readonly Error[]) {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const seen: string[] = [];
  const left = [...errors];
  const unsubscribe = startSubscription({
    retryMs: 1,
    read: async (signal) => {
      const error = left.shift();
      if (error !== undefined) throw error;
      seen.push('open');
      resolve();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    onInterrupted: (error) => seen.push(`interrupted: ${(error as Error).message}`),
    onRejected: (error) => {
      seen.push(`rejected: ${(error as Error).message}`);
      resolve();
    },
  });
  return { seen, settled, unsubscribe };
}

const proxy = () => new ParleyError('unexpected', 'a page', { status: 404 });

describe('a subscription', () => {
  it('is opened again after an answer that did not come from the service', async () => {
    const { seen, settled, unsubscribe } = subscribeWith(proxy(), proxy(), new TypeError('bad frame'));
    await settled;
    unsubscribe();
    assert.deepEqual(seen, ['interrupted: a page', 'interrupted: a page', 'interrupted: bad frame', 'open']);
  });

  it('ends when the service rejects it', async () => {
    for (const code of ['unauthorized', 'forbidden', 'not_found'] as const) {
      const { seen, settled, unsubscribe } = subscribeWith(new ParleyError(code, code, { status: 400 }));
      await settled;
      unsubscribe();
      assert.deepEqual(seen, [`rejected: ${code}`]);
    }
  });

  it('reports nothing when it is closed', async () => {
    const { seen, settled, unsubscribe } = subscribeWith();
    await settled;
    unsubscribe();
    await new Promise(setImmediate);
    assert.deepEqual(seen, ['open']);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../../src/client/parley.ts';
import { startSubscription } from './subscription.ts';

/** Throws the errors one after the other, then reads until it is closed. */
function subscribeWith(...errors: readonly Error[]) {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const seen: string[] = [];
  const left = [...errors];
  const page = new EventTarget();
  const unsubscribe = startSubscription({
    retryMs: 1,
    page,
    read: async (signal) => {
      const error = left.shift();
      if (error !== undefined) throw error;
      seen.push('open');
      resolve();
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          seen.push('closed');
          reject(signal.reason);
        }),
      );
    },
    onInterrupted: (error) => seen.push(`interrupted: ${(error as Error).message}`),
    onRejected: (error) => {
      seen.push(`rejected: ${(error as Error).message}`);
      resolve();
    },
  });
  return { seen, settled, unsubscribe, page };
}

const proxy = () => new ParleyError('unexpected', 'a page', { status: 404 });

describe('a subscription', () => {
  it('is opened again after an answer that did not come from the service', async () => {
    const { seen, settled, unsubscribe } = subscribeWith(proxy(), proxy(), new TypeError('bad frame'));
    await settled;
    unsubscribe();
    assert.deepEqual(seen, [
      'interrupted: a page',
      'interrupted: a page',
      'interrupted: bad frame',
      'open',
      'closed',
    ]);
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
    assert.deepEqual(seen, ['open', 'closed']);
  });

  it('is closed while its page is hidden, and opened once when the page is shown again', async () => {
    const { seen, settled, unsubscribe, page } = subscribeWith();
    await settled;
    // The first show of a page comes after its scripts have begun.
    page.dispatchEvent(new Event('pageshow'));
    page.dispatchEvent(new Event('pagehide'));
    assert.deepEqual(seen, ['open', 'closed']);
    page.dispatchEvent(new Event('pageshow'));
    page.dispatchEvent(new Event('pageshow'));
    assert.deepEqual(seen, ['open', 'closed', 'open']);
    unsubscribe();
    page.dispatchEvent(new Event('pageshow'));
    assert.deepEqual(seen, ['open', 'closed', 'open', 'closed']);
  });

  it('stays closed when the page is shown again after it was rejected', async () => {
    const error = new ParleyError('not_found', 'gone', { status: 404 });
    const { seen, settled, unsubscribe, page } = subscribeWith(error);
    await settled;
    page.dispatchEvent(new Event('pagehide'));
    page.dispatchEvent(new Event('pageshow'));
    await new Promise(setImmediate);
    unsubscribe();
    assert.deepEqual(seen, ['rejected: gone']);
  });
});

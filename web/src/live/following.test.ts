// When a stream that has ended is followed again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ParleyError } from '../../../src/client/parley.ts';
import { startFollowing } from './following.ts';

/** Throws these one after the other, then follows until the end. */
function followedWith(...faults: readonly Error[]) {
  const { promise: settled, resolve } = Promise.withResolvers<void>();
  const seen: string[] = [];
  const left = [...faults];
  const end = startFollowing({
    pauseMs: 1,
    follow: async (signal) => {
      const fault = left.shift();
      if (fault !== undefined) throw fault;
      seen.push('followed');
      resolve();
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    onBroken: (error) => seen.push(`broken: ${(error as Error).message}`),
    onRefused: (error) => {
      seen.push(`refused: ${(error as Error).message}`);
      resolve();
    },
  });
  return { seen, settled, end };
}

const proxy = () => new ParleyError('unexpected', 'a page', { status: 404 });

describe('a stream', () => {
  it('is followed again after an answer that is none of the service', async () => {
    const { seen, settled, end } = followedWith(proxy(), proxy(), new TypeError('bad frame'));
    await settled;
    end();
    assert.deepEqual(seen, ['broken: a page', 'broken: a page', 'broken: bad frame', 'followed']);
  });

  it('is over once the service has refused it', async () => {
    for (const code of ['unauthorized', 'forbidden', 'not_found'] as const) {
      const { seen, settled, end } = followedWith(new ParleyError(code, code, { status: 400 }));
      await settled;
      end();
      assert.deepEqual(seen, [`refused: ${code}`]);
    }
  });

  it('says nothing when it is ended on purpose', async () => {
    const { seen, settled, end } = followedWith();
    await settled;
    end();
    await new Promise(setImmediate);
    assert.deepEqual(seen, ['followed']);
  });
});

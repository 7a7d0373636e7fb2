import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSharedRead } from './sharedRead.ts';

const long = 3_600_000;

describe('a value that metrics read', () => {
  it('is read once for any number of scrapes within its age', async () => {
    let reads = 0;
    const read = createSharedRead(async () => ++reads, { ageMs: long, waitMs: long });
    assert.deepEqual(await Promise.all([read(), read(), read()]), [1, 1, 1]);
    assert.equal(await read(), 1);
  });

  it('is missing, and is not read again, while a read does not settle', async () => {
    let reads = 0;
    const reading = Promise.withResolvers<number>();
    const readOnce = () => {
      reads += 1;
      return reading.promise;
    };
    const read = createSharedRead(readOnce, { ageMs: 0, waitMs: 1 });
    assert.equal(await read(), undefined);
    assert.equal(await read(), undefined);
    assert.equal(reads, 1);
    reading.resolve(7);
    await reading.promise;
    // The read that was late does not count any more.
    assert.equal(await read(), undefined);
    assert.equal(await read(), 7);
  });

  it('is missing if it cannot be read', async () => {
    const read = createSharedRead(() => Promise.reject(new Error('gone')));
    assert.equal(await read(), undefined);
  });
});

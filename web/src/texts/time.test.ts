// Times as people say them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lengthText } from './time.ts';

describe('how long something goes on', () => {
  const since = '2026-01-01T10:00:00Z';
  const after = (seconds: number) => lengthText(since, Date.parse(since) + seconds * 1_000);

  it('is told in minutes and seconds, and in hours where it takes them', () => {
    assert.deepEqual([0, 9.9, 75, 3_725].map(after), ['0:00', '0:09', '1:15', '1:02:05']);
  });

  it('is never less than nothing, and not told where the start is not known', () => {
    assert.equal(after(-5), '0:00');
    assert.equal(lengthText(undefined, 0), '');
  });
});

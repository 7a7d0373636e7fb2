import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { durationText } from './time.ts';

describe('a duration', () => {
  const since = '2026-01-01T10:00:00Z';
  const after = (seconds: number) => durationText(since, Date.parse(since) + seconds * 1_000);

  it('has minutes and seconds, and hours if needed', () => {
    assert.deepEqual([0, 9.9, 75, 3_725].map(after), ['0:00', '0:09', '1:15', '1:02:05']);
  });

  it('is never negative, and empty if the start is not known', () => {
    assert.equal(after(-5), '0:00');
    assert.equal(durationText(undefined, 0), '');
  });
});

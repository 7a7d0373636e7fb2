import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addRange, firstGap, type Range } from './viewedRanges.ts';

const rangesOf = (...parts: readonly (readonly [number, number])[]) =>
  parts.reduce<readonly Range[]>((ranges, [from, to]) => addRange(ranges, { from, to }), []);

describe('the viewed ranges of an element', () => {
  it('have a gap until every part was on the screen', () => {
    assert.equal(firstGap([], 100), 0);
    assert.equal(firstGap(rangesOf([0, 60]), 100), 60);
    assert.equal(firstGap(rangesOf([0, 60], [80, 100]), 100), 60);
    assert.equal(firstGap(rangesOf([0, 60], [80, 100], [50, 81]), 100), undefined);
  });

  it('have a gap at the top if only the rest was on the screen', () => {
    assert.equal(firstGap(rangesOf([40, 100]), 100), 0);
    assert.equal(firstGap(rangesOf([40, 100], [0, 45]), 100), undefined);
    assert.equal(firstGap(rangesOf([30, 20], [-5, -1]), 100), 0);
  });
});

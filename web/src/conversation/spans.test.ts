import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addSpan, firstGap, type Span } from './spans.ts';

const spansOf = (...parts: readonly (readonly [number, number])[]) =>
  parts.reduce<readonly Span[]>((spans, [from, to]) => addSpan(spans, { from, to }), []);

describe('what has been on the screen', () => {
  it('is the whole once nothing in between is left out', () => {
    assert.equal(firstGap([], 100), 0);
    assert.equal(firstGap(spansOf([0, 60]), 100), 60);
    assert.equal(firstGap(spansOf([0, 60], [80, 100]), 100), 60);
    assert.equal(firstGap(spansOf([0, 60], [80, 100], [50, 81]), 100), undefined);
  });

  it('begins at the head', () => {
    assert.equal(firstGap(spansOf([40, 100]), 100), 0);
    assert.equal(firstGap(spansOf([40, 100], [0, 45]), 100), undefined);
    assert.equal(firstGap(spansOf([30, 20], [-5, -1]), 100), 0);
  });
});

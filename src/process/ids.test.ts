import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createIds } from './ids.ts';

describe('ids', () => {
  it('increase with every call, are version 7 and never repeat', () => {
    const next = createIds();
    const made = Array.from({ length: 50_000 }, next);
    assert.deepEqual(made.toSorted(), made);
    assert.equal(new Set(made).size, made.length);
    for (const id of made.slice(0, 100)) assert.match(id, /^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });

  it('increase even if the clock stops or is set back', () => {
    const times = [1_000, 1_000, 999, 500, 1_001];
    const next = createIds(() => times.shift() ?? 1_001);
    const made = Array.from({ length: 20_000 }, next);
    assert.deepEqual(made.toSorted(), made);
    assert.equal(new Set(made).size, made.length);
  });

  it('begin with the time in milliseconds', () => {
    const id = createIds(() => 1_234_567_890_123)();
    assert.equal(Number.parseInt(id.slice(0, 12), 16), 1_234_567_890_123);
  });
});

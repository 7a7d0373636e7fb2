import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { findTooManyValues } from './tooManyValues.ts';

const padding = ' '.repeat(40_000);
const faultOf = (text: string, max = 100) => findTooManyValues(Buffer.from(text + padding), max);

describe('findTooManyValues', () => {
  it('counts values, but not commas in strings', () => {
    assert.equal(faultOf(`[${Array(100).fill(1).join()}]`), undefined);
    assert.match(faultOf(`[${Array(101).fill(1).join()}]`) ?? '', /at most 100 values/);
    assert.equal(
      faultOf(JSON.stringify({ a: ','.repeat(500), b: '\\",,,'.repeat(100), c: '\\' })),
      undefined,
    );
  });

  it('measures depth, but not brackets in strings', () => {
    assert.match(faultOf('['.repeat(1_001)) ?? '', /1000 levels/);
    assert.equal(faultOf(`["${'['.repeat(5_000)}"]`), undefined);
    assert.equal(faultOf('[]'.repeat(2_000)), undefined);
  });

  it('leaves invalid JSON to the parser', () => {
    for (const text of ['"open', '"\\', '}}}}', '"a\\\\\\"']) assert.equal(faultOf(text), undefined);
  });

  it('counts exactly, wherever quotes and backslashes are in long strings', () => {
    const odd = fc.string({ unit: fc.constantFrom('"', '\\', ',', '[', 'a', 'é'), maxLength: 200 });
    const plain = fc.integer({ min: 0, max: 100 }).map((length) => 'x'.repeat(length));
    const text = fc.tuple(plain, odd, plain).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 20 }), (strings) => {
        assert.equal(faultOf(JSON.stringify(strings), strings.length), undefined);
        assert.notEqual(faultOf(JSON.stringify(strings), strings.length - 1), undefined);
      }),
    );
  });

  it('accepts any JSON of few values, whatever its strings contain', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 50 }), (strings) => {
        assert.equal(faultOf(JSON.stringify(strings)), undefined);
      }),
    );
  });
});

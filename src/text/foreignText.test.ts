import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonOf, textOf, wellFormedJson } from './foreignText.ts';

/** Returns every string in the value, including keys. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [name, ...stringsIn(item)]);
}

describe('the text of an untrusted value', () => {
  it('is a string unchanged, empty for null and undefined, and JSON for the rest', () => {
    const values = ['a', 1, true, null, undefined, { a: 1 }, ['b']];
    assert.deepEqual(values.map(textOf), ['a', '1', 'true', '', '', '{"a":1}', '["b"]']);
  });

  it('exists for objects whose conversion throws, and for those that cannot be serialized', () => {
    assert.equal(textOf({ toString: 1, valueOf: 1 }), '{"toString":1,"valueOf":1}');
    const circle: unknown[] = [];
    circle.push(circle);
    assert.match(textOf(circle), /cannot be shown/);
    assert.match(jsonOf(circle), /cannot be shown/);
  });
});

describe('well-formed JSON', () => {
  it('has U+FFFD for each lone surrogate, in keys, too', () => {
    const json = wellFormedJson(JSON.stringify({ 'a\ud800': ['\udc00b', '\ud83d\ude00'] }));
    assert.equal(json, '{"a\ufffd":["\ufffdb","\ud83d\ude00"]}');
  });

  it('does not change an escaped backslash before the letters of an escape', () => {
    const value = ['\\ud800', '\\\\ud800', '\\\ud800', '\n\ud800'];
    assert.deepEqual(JSON.parse(wellFormedJson(JSON.stringify(value))), [
      '\\ud800',
      '\\\\ud800',
      '\\\ufffd',
      '\n\ufffd',
    ]);
  });

  it('changes nothing else', () => {
    const text = fc.string({
      unit: fc.constantFrom('\\', 'u', 'd', '8', '0', '"', '\n', '\ud800', '\udc00'),
    });
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), text, text, (value, name, odd) => {
        const made = { value, [name]: odd };
        const read: unknown = JSON.parse(wellFormedJson(JSON.stringify(made)));
        for (const one of stringsIn(read)) assert.ok(one.isWellFormed());
        assert.equal((read as Record<string, unknown>)[name.toWellFormed()], odd.toWellFormed());
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonLine, plainLine, plainText } from './plainText.ts';

const obeyed = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u;

describe('text of others for a terminal', () => {
  it('loses what a terminal obeys, whole, and nothing else', () => {
    const cases: [string, string][] = [
      ['\u001b[31mred\u001b[0m', 'red'],
      ['\u001b]0;title\u0007text', 'text'],
      ['\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\', 'link'],
      ['\u009b2Jcleared', 'cleared'],
      ['over\rwritten\bx', 'overwrittenx'],
      ['a\r\nb\tc', 'a\nb\tc'],
      ['user\u202e txt.exe', 'user txt.exe'],
      ['👩‍💻 日本語 ünï', '👩‍💻 日本語 ünï'],
    ];
    for (const [text, plain] of cases) assert.equal(plainText(text), plain);
    assert.equal(plainLine(' a\n\u001b[2J b\t'), 'a b');
  });

  it('never holds anything that a terminal obeys, whatever it was', () => {
    const piece = fc.oneof(
      fc.constantFrom('\u001b', '[', ']', '\u009b', '\u0007', '\\', ';', 'm', '\r'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        assert.doesNotMatch(plainText(pieces.join('')), obeyed);
        const line = jsonLine(pieces);
        assert.doesNotMatch(line, obeyed);
        assert.deepEqual(JSON.parse(line), pieces);
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonLine, plainLine, plainText, withoutColours } from './plainText.ts';

/** What a terminal obeys or does not show, but for the joints of emoji. */
const obeyed =
  /[^\P{Cc}\n\t]|\p{Cs}|[\u00ad\u061c\u115f\u1160\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/u;

/** Characters that everybody can see. */
const seen = /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s]/gu;

function isWithin(part: readonly string[], whole: string): boolean {
  let at = 0;
  for (const character of part) {
    at = whole.indexOf(character, at) + character.length;
    if (at < character.length) return false;
  }
  return true;
}

describe('text of others for a terminal', () => {
  it('has spelled out what a terminal obeys or hides, and loses nothing', () => {
    const cases: [string, string][] = [
      ['\u001b[31mred\u001b[0m', '␛[31mred␛[0m'],
      ['ls \u001b]0;$(touch P)\u0007 src', 'ls ␛]0;$(touch P)␇ src'],
      ['a\u001b]0;\nhidden\n\u001b\\b', 'a␛]0;\nhidden\n␛\\b'],
      ['\u009b2Jcleared', '\\u{9b}2Jcleared'],
      ['over\rwritten\bx\u007f', 'over␍written␈x␡'],
      ['a\r\nb\tc', 'a\nb\tc'],
      ['user\u202e txt.exe', 'user\\u{202e} txt.exe'],
      ['r\u200bm \u{e0041}\ufeff\u2028', 'r\\u{200b}m \\u{e0041}\\u{feff}\\u{2028}'],
      ['a\u200db\ufe0f \u200d💻', 'a\\u{200d}b\\u{fe0f} \\u{200d}💻'],
      ['👩‍💻 👩🏽‍💻 ❤️‍🔥 日本語 ünï', '👩‍💻 👩🏽‍💻 ❤️‍🔥 日本語 ünï'],
    ];
    for (const [text, plain] of cases) assert.equal(plainText(text), plain);
    assert.equal(plainLine(' a\n\u001b[2J b\t'), 'a ␛[2J b');
    assert.equal(withoutColours('\u001b[1;31mred\u001b[m \u001b[2J'), 'red \u001b[2J');
  });

  it('never holds what a terminal obeys or hides, and holds all that can be seen, in order', () => {
    const piece = fc.oneof(
      fc.constantFrom('\u001b', '[', ']', '\u009b', '\u0007', '\\', ';', 'm', '\r', '\u200b', '\u{e0041}'),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join('');
        for (const plain of [plainText(text), plainLine(text)]) {
          assert.doesNotMatch(plain, obeyed);
          assert.ok(isWithin(text.match(seen) ?? [], plain));
        }
        const line = jsonLine(pieces);
        assert.doesNotMatch(line, obeyed);
        assert.deepEqual(JSON.parse(line), pieces);
      }),
    );
  });
});

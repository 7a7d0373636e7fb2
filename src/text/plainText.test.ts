import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jsonLine, plainLine, plainText, shellWord, withoutColours } from './plainText.ts';

/** Control and invisible characters, except the joiners of emoji. */
const forbidden =
  /[^\P{Cc}\n\t]|\p{Cs}|[\u00ad\u061c\u115f\u1160\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/u;

/** Visible characters. */
const seen = /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s]/gu;

function isWithin(part: readonly string[], whole: string): boolean {
  let at = 0;
  for (const character of part) {
    at = whole.indexOf(character, at) + character.length;
    if (at < character.length) return false;
  }
  return true;
}

describe('plainText', () => {
  it('makes control and invisible characters visible, and removes nothing', () => {
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

  it('never contains a control or invisible character, and keeps all visible ones in order', () => {
    const piece = fc.oneof(
      fc.constantFrom('\u001b', '[', ']', '\u009b', '\u0007', '\\', ';', 'm', '\r', '\u200b', '\u{e0041}'),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join('');
        for (const plain of [plainText(text), plainLine(text)]) {
          assert.doesNotMatch(plain, forbidden);
          assert.ok(isWithin(text.match(seen) ?? [], plain));
        }
        const line = jsonLine(pieces);
        assert.doesNotMatch(line, forbidden);
        assert.deepEqual(JSON.parse(line), pieces);
      }),
    );
  });
});

describe('shellWord', () => {
  it('leaves a word without special characters as it is', () => {
    for (const word of ['01990f3c5a7b', 'nightly-1', 'a.b:c_d@e']) assert.equal(shellWord(word), word);
  });

  it('makes any text a single word for a real shell', () => {
    const words = ['<string>', '$(exit)', '`id`', "it's", 'a;b|c&d>e', '*', '~', '!!', 'ü"', '{a,b}', ''];
    const said = execFileSync('sh', ['-c', `printf '%s\\n' ${words.map(shellWord).join(' ')}`], {
      encoding: 'utf8',
    });
    assert.deepEqual(said.split('\n'), [...words, '']);
  });

  it('contains no control character', () => {
    assert.equal(shellWord('a\u001bb'), "'a␛b'");
  });
});

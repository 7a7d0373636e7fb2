import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { visibleLine, visibleOutput, visibleText } from './visibleText.ts';

describe('visible text', () => {
  it('shows the code points of characters that hide or reverse text', () => {
    for (const [text, shown] of [
      [': \u202e\u2066x; touch P \u2069\u2066# a', ': ⟨U+202E⟩⟨U+2066⟩x; touch P ⟨U+2069⟩⟨U+2066⟩# a'],
      ['a\u200bb\u00adc\ufeff', 'a⟨U+200B⟩b⟨U+00AD⟩c⟨U+FEFF⟩'],
      ['\u3164\u{e0041}', '⟨U+3164⟩⟨U+E0041⟩'],
      ['rm x\r# y', 'rm x⟨U+000D⟩# y'],
      ['a\u2028b\u0000\u007f\u009b', 'a⟨U+2028⟩b⟨U+0000⟩⟨U+007F⟩⟨U+009B⟩'],
      ['a\ufe0f b\u200dc', 'a⟨U+FE0F⟩ b⟨U+200D⟩c'],
    ] as const)
      assert.equal(visibleText(text), shown);
  });

  it('keeps line breaks, tabs, other scripts and emoji', () => {
    for (const text of ['a\n\tb\r\nc', 'שלום مرحبا ñ', '✔️ ❤️‍🔥 👩🏽‍💻 1️⃣ 👨‍👩‍👧', ''])
      assert.equal(visibleText(text), text);
  });

  it('shows line breaks and tabs as code points in a single line', () => {
    assert.equal(visibleLine('a\r\nb\tc'), 'a⟨U+000D⟩⟨U+000A⟩b⟨U+0009⟩c');
  });

  it('keeps the lines of terminal output, without colours', () => {
    assert.equal(
      visibleOutput('\u001b[1;31mred\u001b[0m\r\n10 %\r20 %\r\n\u202e'),
      'red\n10 %\n20 %\n⟨U+202E⟩',
    );
  });
});

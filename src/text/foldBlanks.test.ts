import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { englishNotes, foldBlanks, foldDiffBlanks } from './foldBlanks.ts';

const fold = (text: string) => foldBlanks(text, englishNotes);

describe('folding blanks', () => {
  it('replaces more than two empty lines with their number', () => {
    assert.equal(fold(`touch a${'\n'.repeat(121)}echo b`), 'touch a\n⟨120 empty lines⟩\necho b');
    assert.equal(fold(`${' \t\r\n'.repeat(5)}\u2800\u00a0\na\n\n\n`), '⟨6 empty lines⟩\na\n⟨3 empty lines⟩');
    assert.equal(fold('a\n\n\nb\n\nc'), 'a\n\n\nb\n\nc');
  });

  it('replaces a wide gap in a line with its length, and keeps the indentation of code', () => {
    assert.equal(fold(`echo a${' '.repeat(200)}; rm b`), 'echo a ⟨200 spaces⟩ ; rm b');
    assert.equal(fold(`a${'\t'.repeat(9)}b${'\u2800'.repeat(70)}c`), 'a ⟨9 spaces⟩ b ⟨70 spaces⟩ c');
    const code = `${' '.repeat(40)}a\n${'\t'.repeat(6)}b`;
    assert.equal(fold(code), code);
  });

  it('folds lines of a diff only if they have the same sign', () => {
    const diff = ['@@ -1 +1,9 @@', ' ', ' ', '+', '+  ', '+', '+', '-', '+rm a', ''].join('\n');
    assert.equal(
      foldDiffBlanks(diff, englishNotes),
      ['@@ -1 +1,9 @@', ' ', ' ', '+⟨4 empty lines⟩', '-', '+rm a', ''].join('\n'),
    );
  });
});

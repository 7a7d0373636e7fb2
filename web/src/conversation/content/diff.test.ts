import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { englishNotes } from '../../../../src/text/foldBlanks.ts';
import { compare, type DiffLine, foldDiffLines, readDiff } from './diff.ts';

const signs = { added: '+', removed: '-', same: ' ', hunk: '', file: 'file ' };
const shown = (lines: readonly DiffLine[]) => lines.map(({ kind, text }) => signs[kind] + text);

describe('the diff of two texts', () => {
  it('is empty if they are equal', () => {
    assert.deepEqual(compare('a\nb\n', 'a\nb\n'), []);
    assert.deepEqual(compare('', ''), []);
  });

  it('has the changes with three lines of context', () => {
    const before = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const after = before.with(9, 'other').toSpliced(19, 1);
    assert.deepEqual(shown(compare(`${before.join('\n')}\n`, `${after.join('\n')}\n`)), [
      '@@ -7,7 +7,7 @@',
      ' line 6',
      ' line 7',
      ' line 8',
      '-line 9',
      '+other',
      ' line 10',
      ' line 11',
      ' line 12',
      '@@ -17,4 +17,3 @@',
      ' line 16',
      ' line 17',
      ' line 18',
      '-line 19',
    ]);
  });

  it('shows an added final line break', () => {
    assert.deepEqual(shown(compare('a', 'a\n')), [
      '@@ -1,1 +1,1 @@',
      '-a',
      '\\ No newline at end of file',
      '+a',
    ]);
  });
});

describe('a unified diff', () => {
  it('has line numbers, and no file name if that is already shown', () => {
    assert.deepEqual(
      readDiff('--- a\n+++ a\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n\\ No newline at end of file', 'a'),
      [
        { kind: 'hunk', text: '@@ -1,2 +1,2 @@' },
        { kind: 'same', text: 'same', oldLine: 1, newLine: 1 },
        { kind: 'removed', text: 'old', oldLine: 2 },
        { kind: 'added', text: 'new', newLine: 2 },
        { kind: 'hunk', text: '\\ No newline at end of file' },
      ],
    );
  });

  it('names several files, or one that is not shown', () => {
    const diff = '--- /workspace/a\n+++ /workspace/a\n@@ -1 +1 @@\n-x\n+y';
    assert.deepEqual(
      readDiff(diff, 'a').filter(({ kind }) => kind === 'file'),
      [],
    );
    assert.equal(shown(readDiff(diff, 'b'))[0], 'file a');
    const both = `${diff}\n--- /dev/null\n+++ .git/hooks/pre-commit\n@@ -0,0 +1 @@\n+z`;
    assert.deepEqual(
      shown(readDiff(both, 'a')).filter((line) => line.startsWith('file')),
      ['file a', 'file .git/hooks/pre-commit'],
    );
    assert.equal(shown(readDiff('--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y', 'b'))[0], 'file a → b');
  });

  it('keeps added and removed lines that look like a file name', () => {
    const diff =
      '--- a\n+++ a\n@@ -1,2 +1,2 @@\n--- j;\n+++ j; rm x\n@@ y\n--- c\n+++ d\n@@ -0,0 +1,1 @@\n+++ new';
    assert.deepEqual(shown(readDiff(diff)), [
      'file a',
      '@@ -1,2 +1,2 @@',
      '--- j;',
      '+++ j; rm x',
      '@@ y',
      'file c → d',
      '@@ -0,0 +1,1 @@',
      '+++ new',
    ]);
  });

  it('shows hidden characters', () => {
    assert.deepEqual(shown(readDiff('--- a\n+++ a\n@@ -0,0 +1 @@\n+x\u202ey', 'a')), [
      '@@ -0,0 +1 @@',
      '+x⟨U+202E⟩y',
    ]);
  });
});

describe('the diff of an approval request', () => {
  it('has its empty lines and wide gaps folded', () => {
    const lines = compare('a\n', `a\n${'\n'.repeat(50)}b${' '.repeat(100)}c\n\n\n`);
    assert.deepEqual(shown(foldDiffLines(lines, englishNotes)), [
      '@@ -1,1 +1,54 @@',
      ' a',
      '+⟨50 empty lines⟩',
      '+b ⟨100 spaces⟩ c',
      '+',
      '+',
    ]);
  });
});

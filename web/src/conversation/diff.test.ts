// Differences between two versions of a file.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compare, type DiffLine, readDiff } from './diff.ts';

const signs = { added: '+', removed: '-', same: ' ', hunk: '' };
const shown = (lines: readonly DiffLine[]) => lines.map(({ kind, text }) => signs[kind] + text);

describe('the difference of two texts', () => {
  it('is nothing where they are the same', () => {
    assert.deepEqual(compare('a\nb\n', 'a\nb\n'), []);
    assert.deepEqual(compare('', ''), []);
  });

  it('shows what changed with three lines around it', () => {
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

  it('tells of a last line break that came', () => {
    assert.deepEqual(shown(compare('a', 'a\n')), [
      '@@ -1,1 +1,1 @@',
      '-a',
      '\\ No newline at end of file',
      '+a',
    ]);
  });
});

describe('a unified diff', () => {
  it('is read without the names of its files', () => {
    assert.deepEqual(
      readDiff('--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n\\ No newline at end of file'),
      [
        { kind: 'hunk', text: '@@ -1,2 +1,2 @@' },
        { kind: 'same', text: 'same' },
        { kind: 'removed', text: 'old' },
        { kind: 'added', text: 'new' },
        { kind: 'hunk', text: '\\ No newline at end of file' },
      ],
    );
  });

  it('keeps lines that went away and look like a name, and drops the names of a second file', () => {
    const diff = '--- a\n+++ b\n@@ -1,1 +0,0 @@\n--- old\n--- c\n+++ d\n@@ -0,0 +1,1 @@\n+++ new';
    assert.deepEqual(shown(readDiff(diff)), ['@@ -1,1 +0,0 @@', '--- old', '@@ -0,0 +1,1 @@', '+++ new']);
  });
});

// Differences between two versions of a file.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compare, type DiffLine, readDiff } from './diff.ts';

const signs = { added: '+', removed: '-', same: ' ', hunk: '' };
const shown = (lines: readonly DiffLine[]) => lines.map(({ kind, text }) => signs[kind] + text);

/** What was there before, and after, by the difference. */
function sides(lines: readonly DiffLine[]): [string[], string[]] {
  const but = (kind: DiffLine['kind']) =>
    lines.filter((line) => line.kind !== kind && line.kind !== 'hunk').map(({ text }) => text);
  return [but('added'), but('removed')];
}

describe('the difference of two texts', () => {
  it('is nothing where they are the same', () => {
    assert.deepEqual(compare('a\nb\n', 'a\nb\n'), []);
    assert.deepEqual(compare('', ''), []);
  });

  it('shows what changed with three lines around it', () => {
    const before = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const after = before.with(9, 'other').toSpliced(19, 1);
    assert.deepEqual(shown(compare(`${before.join('\n')}\n`, `${after.join('\n')}\n`)), [
      '@@ -7 +7 @@',
      ' line 6',
      ' line 7',
      ' line 8',
      '-line 9',
      '+other',
      ' line 10',
      ' line 11',
      ' line 12',
      '@@ -17 +17 @@',
      ' line 16',
      ' line 17',
      ' line 18',
      '-line 19',
    ]);
  });

  it('leads from one to the other, whatever they are', () => {
    const words = ['a', 'b', 'c', ''];
    for (let seed = 1; seed < 300; seed++) {
      const pick = (i: number) => words[Math.floor(Math.abs(Math.sin(seed * 31 + i) * 1e4)) % 4] ?? '';
      const before = Array.from({ length: seed % 7 }, (_, i) => pick(i));
      const after = Array.from({ length: (seed * 3) % 7 }, (_, i) => pick(i + 50));
      const lines = compare(before.map((l) => `${l}\n`).join(''), after.map((l) => `${l}\n`).join(''));
      if (lines.length > 0) assert.deepEqual(sides(lines), [before, after]);
      else assert.deepEqual(before, after);
    }
  });

  it('replaces all that changed where more would take too long to find', () => {
    const long = (word: string) => Array.from({ length: 3_000 }, (_, i) => `${word} ${i % 50}`).join('\n');
    assert.equal(compare(long('a'), long('b')).filter(({ kind }) => kind !== 'hunk').length, 6_000);
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
      ],
    );
  });
});

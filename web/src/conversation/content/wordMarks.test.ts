import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DiffLine } from './diff.ts';
import { markSegments, wordMarks } from './wordMarks.ts';

const line = (kind: DiffLine['kind'], text: string): DiffLine => ({ kind, text });

function marked(...lines: readonly DiffLine[]): string[] {
  return [...wordMarks(lines)].flatMap(([index, ranges]) =>
    ranges.map(({ from, to }) => lines[index]?.text.slice(from, to) ?? ''),
  );
}

describe('the marks of a diff', () => {
  it('are the words that differ between a removed line and the added one that replaces it', () => {
    const found = marked(
      line('same', 'a'),
      line('removed', 'const port = 3000;'),
      line('removed', 'const host = "a";'),
      line('added', 'const port = 3001;'),
      line('added', 'const host = "b";'),
    );
    assert.deepEqual(found, ['3000', '3001', 'a', 'b']);
  });

  it('are not there if the lines have little in common, or nobody knows which belong together', () => {
    assert.deepEqual(marked(line('removed', 'one two three'), line('added', 'other words here')), []);
    assert.deepEqual(
      marked(line('removed', 'a b c d'), line('added', 'a b c e'), line('added', 'a b c f')),
      [],
    );
    const long = 'word '.repeat(200);
    assert.deepEqual(marked(line('removed', `${long}a`), line('added', `${long}b`)), []);
  });

  it('split tokens', () => {
    const segments = [
      { text: 'const ', kind: 'keyword' as const },
      { text: 'ab', kind: undefined },
    ];
    assert.deepEqual(markSegments(segments, [{ from: 4, to: 7 }]), [
      { text: 'cons', kind: 'keyword', isMarked: false },
      { text: 't ', kind: 'keyword', isMarked: true },
      { text: 'a', kind: undefined, isMarked: true },
      { text: 'b', kind: undefined, isMarked: false },
    ]);
  });
});

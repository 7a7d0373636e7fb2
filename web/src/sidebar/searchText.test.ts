import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { markedParts, searchQuery } from './searchText.ts';

describe('a search', () => {
  it('finds words that begin with the last one, unless it is finished', () => {
    assert.equal(searchQuery(' fix the pars'), 'fix the pars*');
    assert.equal(searchQuery('pars*'), 'pars*');
    assert.equal(searchQuery('"empty line"'), '"empty line"');
    assert.equal(searchQuery('"empty li'), '"empty li');
    assert.equal(searchQuery('src/db.'), 'src/db.');
  });

  it('is not sent without a letter or digit', () => {
    for (const text of ['', '  ', '"', '* -']) assert.equal(searchQuery(text), undefined);
  });

  it('marks what was found, also where ranges touch or overlap', () => {
    const shown = (text: string, ...ranges: [number, number][]) =>
      markedParts(
        text,
        ranges.map(([start, end]) => ({ start, end })),
      ).map(({ part, isMarked }) => (isMarked ? `[${part}]` : part));
    assert.deepEqual(shown('a parser fails', [2, 8], [9, 14]), ['a ', '[parser]', ' ', '[fails]']);
    assert.deepEqual(shown('abc', [0, 2], [1, 3]), ['[ab]', '[c]']);
    assert.deepEqual(shown('abc'), ['abc']);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shortIds } from '../connection/conversationId.ts';
import { fitText, formatTable, relativeTime, textWidth } from './table.ts';

describe('relativeTime', () => {
  it('counts minutes, hours and days, and then shows the date', () => {
    const now = Date.parse('2026-03-10T12:00:00Z');
    const cases: [string, string][] = [
      ['2026-03-10T12:00:30Z', 'now'],
      ['2026-03-10T11:59:01Z', 'now'],
      ['2026-03-10T11:58:59Z', '1m ago'],
      ['2026-03-10T10:01:00Z', '1h ago'],
      ['2026-03-07T11:00:00Z', '3d ago'],
      ['2026-01-02T03:04:05Z', '2026-01-02'],
      ['nonsense', 'nonsense'],
    ];
    for (const [time, shown] of cases) assert.equal(relativeTime(time, now), shown);
  });
});

describe('fitText', () => {
  it('cuts by the columns of a terminal, never within a character', () => {
    assert.deepEqual([textWidth('日本'), textWidth('👩‍💻'), textWidth('e\u0301')], [4, 2, 1]);
    assert.equal(fitText('short', 5), 'short');
    assert.equal(fitText('too long', 5), 'too …');
    assert.equal(fitText('日本語', 5), '日本…');
    assert.equal(fitText('a👩‍💻b', 3), 'a…');
    assert.equal(fitText('abc', 0), '');
  });
});

describe('formatTable', () => {
  it('shrinks the last column first, then the others, down to their minimum or else to their headings', () => {
    const table = (widthMax: number) =>
      formatTable({
        columns: [{ heading: 'ID' }, { heading: 'STATUS', widthMin: 6 }, { heading: 'TITLE', widthMin: 7 }],
        rows: [[{ text: 'abcdef' }, { text: 'waiting for input' }, { text: 'A long title' }]],
        style: (_, text) => text,
        widthMax,
      });
    assert.equal(table(80), 'ID      STATUS             TITLE\nabcdef  waiting for input  A long title\n');
    assert.equal(table(34), 'ID      STATUS             TITLE\nabcdef  waiting for input  A long…\n');
    assert.equal(table(23), 'ID      STATUS  TITLE\nabcdef  waiti…  A long…\n');
    assert.equal(table(21), 'ID      STATUS  TITLE\nabcdef  waiti…  A lo…\n');
  });
});

describe('shortIds', () => {
  it('shortens each id to 8 characters, or to more if another id starts the same', () => {
    const ids = ['01a1dd04b92b742a', '01a1dd04b93c0000', '01a1dd9900000000', 'c'];
    assert.deepEqual([...shortIds(ids).values()], ['01a1dd04b92', '01a1dd04b93', '01a1dd99', 'c']);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wordsOf } from './words.ts';

const texts = (text: string) => [...wordsOf(text)].map(({ word }) => word);

describe('words of a text', () => {
  it('are its runs of letters and digits in lower case', () => {
    assert.deepEqual(texts('Fix src/db/tables.ts, line_12: HTTP2!'), [
      'fix',
      'src',
      'db',
      'tables',
      'ts',
      'line',
      '12',
      'http2',
    ]);
    assert.deepEqual(texts(' \u0000 … --- '), []);
  });

  it('have no accents, and the same form however they are typed', () => {
    assert.deepEqual(texts('Café cafe\u0301 ÉCLAIR Straße İstanbul ﬁle'), [
      'cafe',
      'cafe',
      'eclair',
      'straße',
      'istanbul',
      'file',
    ]);
    assert.deepEqual(texts('Привет мир עברית हिन्दी'), ['привет', 'мир', 'עברית', 'हिन्दी']);
  });

  it('are pairs of characters in scripts without spaces', () => {
    assert.deepEqual(texts('数据库'), ['数据', '据库', '库']);
    assert.deepEqual(texts('用SQLite数据库。'), ['用', 'sqlite', '数据', '据库', '库']);
    assert.deepEqual(texts('データ'), ['デー', 'ータ', 'タ']);
    assert.deepEqual(texts('한국'), ['한국', '국']);
  });

  it('know where they are in the text', () => {
    const text = '😀 Café 数据库';
    const found = [...wordsOf(text)].map(({ start, end }) => text.slice(start, end));
    assert.deepEqual(found, ['Café', '数据', '据库', '库']);
  });

  it('are cut if they are very long', () => {
    assert.deepEqual(texts('x'.repeat(100_000)), ['x'.repeat(64)]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitWords } from './words.ts';

describe('splitWords', () => {
  const cases: readonly [string, string[] | undefined][] = [
    ['', []],
    ['  a  b\tc ', ['a', 'b', 'c']],
    ["'a b' c", ['a b', 'c']],
    ['"a b"c', ['a bc']],
    ['"" x', ['', 'x']],
    ["'it'\\''s'", ["it's"]],
    ['"say \\"hi\\" \\n"', ['say "hi" \\n']],
    ["'no \\escape'", ['no \\escape']],
    ['a\\ b', ['a b']],
    ['$HOME *', ['$HOME', '*']],
    ["'open", undefined],
    ['"open', undefined],
    ['end\\', undefined],
  ];
  for (const [text, words] of cases) {
    it(`splits ${JSON.stringify(text)} into ${JSON.stringify(words)}`, () => {
      assert.deepEqual(splitWords(text), words);
    });
  }
});

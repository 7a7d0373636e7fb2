import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { shellWord } from './shellWord.ts';

describe('a word for a shell', () => {
  it('stays as it is where no character means anything', () => {
    for (const word of ['01990f3c5a7b', 'nightly-1', 'a.b:c_d@e']) assert.equal(shellWord(word), word);
  });

  it('is one word to a real shell, whatever is in it', () => {
    const words = ['<string>', '$(exit)', '`id`', "it's", 'a;b|c&d>e', '*', '~', '!!', 'ü"', '{a,b}', ''];
    const said = execFileSync('sh', ['-c', `printf '%s\\n' ${words.map(shellWord).join(' ')}`], {
      encoding: 'utf8',
    });
    assert.deepEqual(said.split('\n'), [...words, '']);
  });

  it('shows nothing that a terminal obeys', () => {
    assert.equal(shellWord('a\u001bb'), "'a␛b'");
  });
});

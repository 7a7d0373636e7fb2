import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nameFault, shownName } from './names.ts';

describe('the name of an uploaded file', () => {
  it('may be any single name that people can read', () => {
    for (const name of ['a.txt', 'a b (1).tar.gz', '.env', 'Größe ✓.txt', '日本語.md', '-rf', '...', 'a..b'])
      assert.equal(nameFault(name), undefined, name);
  });

  it('is not accepted if it leads elsewhere, hides something or is reserved', () => {
    const names = [
      ...['', '.', '..', '../a', '/etc/passwd', 'a/b.txt', 'a\\b.txt', 'C:\\a.txt', '..\\a'],
      ...['a\nb', 'a\0b', 'a\u001bb', 'a\u202etxt.exe', 'a\u2028b', ' a', 'a ', 'a\ud800'],
      ...['.git', '.GIT', '.parley-upload-1', 'x'.repeat(241), 'ß'.repeat(121)],
    ];
    for (const name of names) assert.equal(typeof nameFault(name), 'string', JSON.stringify(name));
  });

  it('is shortened where it is shown, without what cannot be seen', () => {
    assert.equal(shownName('a\nb\u202ec'), 'a�b�c');
    assert.equal(shownName('x'.repeat(1_000)).length, 200);
  });
});

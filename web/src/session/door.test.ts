// Who is in, and who is not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answered, entered, heard, left, offered } from './door.ts';

describe('the door', () => {
  it('lets in by a key, and not by what no header can carry', () => {
    assert.deepEqual(entered('pk_1_abc'), { key: 'pk_1_abc', why: 'none' });
    assert.deepEqual(entered(undefined), { key: undefined, why: 'none' });
    for (const key of ['pk_1_abс', 'pk_1_a…', 'pk_1 abc', 'pk_1\u200b', ''])
      assert.deepEqual(entered(key), { key: undefined, why: 'refused' }, key);
  });

  it('asks who is in before the key of a link takes the place of theirs', () => {
    const now = entered('pk_own');
    for (const key of ['pk_own', 'pk_…']) assert.equal(offered(now, key), now);
    const asked = offered(now, 'pk_other');
    assert.equal(asked.key, 'pk_own');
    assert.deepEqual(answered(asked, false), now);
    assert.deepEqual(answered(asked, true), entered('pk_other'));
    assert.deepEqual(left(asked, { key: 'pk_own', why: 'refused' }), entered('pk_other'));
    assert.deepEqual(left(asked, { key: 'pk_own', why: 'none' }), entered(undefined));
  });

  it('asks in a new tab, too, where another tab has another key', () => {
    const checking = offered(entered(undefined), 'pk_link');
    assert.deepEqual(checking, { key: undefined, why: 'none', checking: 'pk_link' });
    assert.deepEqual(heard(checking, new Set()), entered('pk_link'));
    assert.deepEqual(heard(checking, new Set(['pk_link', 'pk_own'])), entered('pk_link'));
    const asked = heard(checking, new Set(['pk_own']));
    assert.deepEqual(asked, { key: undefined, why: 'none', offered: 'pk_link', otherTab: 'pk_own' });
    assert.deepEqual(answered(asked, true), entered('pk_link'));
    assert.deepEqual(answered(asked, false), entered('pk_own'));
    const several = heard(checking, new Set(['pk_a', 'pk_b']));
    assert.deepEqual(several, { key: undefined, why: 'none', offered: 'pk_link' });
    assert.deepEqual(answered(several, false), entered(undefined));
    assert.deepEqual(heard(entered('pk_own'), new Set(['pk_a'])), entered('pk_own'));
  });

  it('leads out by the key that was refused, and by no other', () => {
    const now = entered('pk_new');
    assert.equal(left(now, { key: 'pk_old', why: 'refused' }), now);
    assert.deepEqual(left(now, { key: 'pk_new', why: 'refused' }), { key: undefined, why: 'refused' });
  });
});

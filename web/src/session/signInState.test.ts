import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  linkOpened,
  offerAnswered,
  otherTabsAnswered,
  returnedFromProvider,
  signedInWith,
  signedOut,
} from './signInState.ts';

describe('the sign-in state', () => {
  it('accepts a key, and refuses text that no header can carry', () => {
    assert.deepEqual(signedInWith('pk_1_abc'), { key: 'pk_1_abc', signedOutReason: 'none' });
    assert.deepEqual(signedInWith(undefined), { key: undefined, signedOutReason: 'none' });
    for (const key of ['pk_1_abс', 'pk_1_a…', 'pk_1 abc', 'pk_1\u200b', ''])
      assert.deepEqual(signedInWith(key), { key: undefined, signedOutReason: 'refused' }, key);
  });

  it('asks the signed-in user before the key of a link replaces theirs', () => {
    const own = signedInWith('pk_own');
    for (const key of ['pk_own', 'pk_…']) assert.equal(linkOpened(own, key), own);
    const offered = linkOpened(own, 'pk_other');
    assert.equal(offered.key, 'pk_own');
    assert.deepEqual(offerAnswered(offered, false), own);
    assert.deepEqual(offerAnswered(offered, true), signedInWith('pk_other'));
    assert.deepEqual(signedOut(offered, { key: 'pk_own', reason: 'refused' }), signedInWith('pk_other'));
    assert.deepEqual(signedOut(offered, { key: 'pk_own', reason: 'none' }), signedInWith(undefined));
  });

  it('asks in a new tab, too, if another tab uses another key', () => {
    const none = { key: undefined, signedOutReason: 'none' };
    const checking = linkOpened(signedInWith(undefined), 'pk_link');
    assert.deepEqual(checking, { ...none, keyToCheck: 'pk_link' });
    assert.deepEqual(otherTabsAnswered(checking, new Set()), signedInWith('pk_link'));
    assert.deepEqual(otherTabsAnswered(checking, new Set(['pk_link', 'pk_own'])), signedInWith('pk_link'));
    const offered = otherTabsAnswered(checking, new Set(['pk_own']));
    assert.deepEqual(offered, { ...none, offeredKey: 'pk_link', otherTabKey: 'pk_own' });
    assert.deepEqual(offerAnswered(offered, true), signedInWith('pk_link'));
    assert.deepEqual(offerAnswered(offered, false), signedInWith('pk_own'));
    const several = otherTabsAnswered(checking, new Set(['pk_a', 'pk_b']));
    assert.deepEqual(several, { ...none, offeredKey: 'pk_link' });
    assert.deepEqual(offerAnswered(several, false), signedInWith(undefined));
    assert.deepEqual(otherTabsAnswered(signedInWith('pk_own'), new Set(['pk_a'])), signedInWith('pk_own'));
  });

  it('waits for the session of a tab that returns from the provider, unless somebody is signed in there', () => {
    const answer = { secret: 's', query: 'code=c' };
    const none = signedInWith(undefined);
    assert.deepEqual(returnedFromProvider(none, answer), { ...none, answer });
    assert.equal(returnedFromProvider(none, undefined), none);
    const own = signedInWith('pk_own');
    assert.equal(returnedFromProvider(own, answer), own);
  });

  it('tells a session that has ended from a key that is refused', () => {
    const token = `ps_${'0'.repeat(16)}_x`;
    const ended = signedOut(signedInWith(token), { key: token, reason: 'refused' });
    assert.deepEqual(ended, { key: undefined, signedOutReason: 'ended' });
    const left = signedOut(signedInWith(token), { key: token, reason: 'none' });
    assert.deepEqual(left, { key: undefined, signedOutReason: 'none' });
  });

  it('signs out only the key that was refused', () => {
    const state = signedInWith('pk_new');
    assert.equal(signedOut(state, { key: 'pk_old', reason: 'refused' }), state);
    assert.deepEqual(signedOut(state, { key: 'pk_new', reason: 'refused' }), {
      key: undefined,
      signedOutReason: 'refused',
    });
  });
});

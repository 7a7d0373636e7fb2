import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { createSignInStates, signInMs } from './state.ts';

function vaultOf(key: string) {
  return {
    mac: (purpose: string, text: string) =>
      createHmac('sha256', key).update(`${purpose}\0${text}`).digest('base64url'),
  };
}

describe('the state of a sign-in', () => {
  it('gives back the same secrets to the tab that began, until it expires', () => {
    let at = 1_000;
    const states = createSignInStates(vaultOf('a'), () => at);
    const { tabSecret, secrets } = states.begin();
    assert.deepEqual(states.verify(secrets.state, tabSecret)?.secrets, secrets);
    at += signInMs - 1;
    assert.ok(states.verify(secrets.state, tabSecret));
    at += 1;
    assert.equal(states.verify(secrets.state, tabSecret), undefined);
  });

  it('is worth nothing in another tab, or with another key', () => {
    const states = createSignInStates(vaultOf('a'), () => 0);
    const [one, two] = [states.begin(), states.begin()];
    assert.equal(states.verify(one.secrets.state, two.tabSecret), undefined);
    const others = createSignInStates(vaultOf('b'), () => 0);
    assert.equal(others.verify(one.secrets.state, one.tabSecret), undefined);
  });

  it('contains neither the secret of the tab, nor nonce and verifier', () => {
    const { tabSecret, secrets } = createSignInStates(vaultOf('a'), () => 0).begin();
    for (const secret of [tabSecret, secrets.nonce, secrets.codeVerifier]) {
      assert.equal(secret.length, 43);
      assert.ok(!secrets.state.includes(secret));
    }
    assert.notEqual(secrets.nonce, secrets.codeVerifier);
  });
});

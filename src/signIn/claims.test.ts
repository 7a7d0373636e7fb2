import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maySignIn, mergeClaims, nameOf, normalizeIssuer, userNamesFor } from './claims.ts';

const rules = {
  userClaim: 'preferred_username',
  emailDomains: [],
  groups: [],
  groupsClaim: 'groups',
  adminGroups: [],
  adminEmails: [],
};
const claimsOf = (claims: object) => ({ iss: 'https://login.example.com', sub: '1', ...claims });
const namesOf = (claims: object) => userNamesFor(claimsOf(claims), rules, 'f00');

describe('the name of a new user', () => {
  it('comes from the claim, then from the e-mail address and the name', () => {
    assert.equal(namesOf({ preferred_username: 'ada', email: 'x@y.z' })[0], 'ada');
    assert.equal(namesOf({ email: 'ada@example.com', name: 'Ada' })[0], 'ada@example.com');
    assert.equal(namesOf({ name: 'Ada Lovelace' })[0], 'Ada-Lovelace');
    assert.equal(namesOf({})[0], 'user');
  });

  it('has only characters that names may have', () => {
    const names = [
      'José Ñandú',
      '../../etc',
      '#1',
      '<b>x</b>',
      '\u202Eevil',
      'a'.repeat(500),
      '名前',
      7,
      ['x'],
    ];
    const first = names.map((preferred_username) => namesOf({ preferred_username })[0] ?? '');
    assert.deepEqual(first.slice(0, 5), ['Jose-Nandu', 'etc', '1', 'b-x-b', 'evil']);
    for (const name of first) assert.match(name, /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/);
  });

  it('has a number if it is taken, and is unique at last', () => {
    const names = namesOf({ preferred_username: 'ada' });
    assert.deepEqual([names[1], names.at(-1), new Set(names).size], ['ada-2', 'ada-f00', names.length]);
  });
});

describe('claims', () => {
  it('of the ID token take precedence', () => {
    const merged = mergeClaims(claimsOf({ email: 'a@b.c' }), { sub: '2', email: 'x@y.z', groups: ['g'] });
    assert.deepEqual([merged.sub, merged['email'], merged['groups']], ['1', 'a@b.c', ['g']]);
  });

  it('vouch only for the e-mail address that came with them', () => {
    const admitted = (idToken: object, userInfo: Record<string, unknown>) =>
      maySignIn(mergeClaims(claimsOf(idToken), userInfo), { ...rules, emailDomains: ['example.com'] });
    const [own, other] = [{ email: 'eve@example.com' }, { email: 'eve@other.test' }];
    const verified = { email_verified: true };
    assert.equal(admitted(own, verified), false);
    assert.equal(admitted(verified, own), false);
    assert.equal(admitted(own, { ...other, ...verified }), false);
    assert.equal(admitted({ ...other, ...verified }, own), false);
    assert.equal(admitted({ ...own, email_verified: false }, { ...own, ...verified }), false);
    assert.equal(admitted({ ...own, ...verified }, other), true);
    assert.equal(admitted(own, { ...own, ...verified }), true);
    assert.equal(admitted({}, { ...own, ...verified }), true);
  });

  it('that are shown are one line of bounded length', () => {
    assert.equal(nameOf(claimsOf({ name: 'a\nb\u0000c' })), 'a b c');
    assert.equal(nameOf(claimsOf({ name: 'x'.repeat(1_000) }))?.length, 256);
    assert.equal(nameOf(claimsOf({ name: 5 })), null);
  });
});

describe('an issuer', () => {
  it('is the same with and without a final slash', () => {
    assert.equal(normalizeIssuer('https://Login.example.com/'), normalizeIssuer('https://login.example.com'));
    assert.notEqual(
      normalizeIssuer('https://login.example.com/a'),
      normalizeIssuer('https://login.example.com'),
    );
  });
});

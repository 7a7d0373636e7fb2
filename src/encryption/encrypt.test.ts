import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createCipher } from './encrypt.ts';

const cipher = createCipher(randomBytes(32));
const owner = ['conversation', '1', 'abc'];

describe('an encrypted text', () => {
  it('decrypts to the same value for the same owner', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string()), (value, whose) => {
        const wellFormed = value.toWellFormed();
        assert.equal(cipher.decrypt(cipher.encrypt(wellFormed, whose), whose), wellFormed);
      }),
    );
  });

  it('differs each time, and contains the id of its key', () => {
    const [a, b] = [cipher.encrypt('x', owner), cipher.encrypt('x', owner)];
    assert.notEqual(a, b);
    assert.equal(a.split('.')[1], cipher.keyId);
  });

  it('cannot be decrypted for another owner, nor for its parts joined differently', () => {
    const encrypted = cipher.encrypt('x', owner);
    for (const other of [
      ['conversation', '2', 'abc'],
      ['conversation', '1a', 'bc'],
      ['conversation', '1'],
      [],
    ])
      assert.throws(() => cipher.decrypt(encrypted, other), /belongs to another record/);
  });

  it('cannot be decrypted with another key', () => {
    assert.throws(
      () => createCipher(randomBytes(32)).decrypt(cipher.encrypt('x', owner), owner),
      /another key/,
    );
  });

  it('cannot be decrypted if any byte is changed or missing', () => {
    const encrypted = cipher.encrypt('some value', owner);
    const [version, keyId, body = ''] = encrypted.split('.');
    const bytes = Buffer.from(body, 'base64url');
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes);
      changed[i] = (changed[i] ?? 0) ^ 1;
      assert.throws(() => cipher.decrypt(`${version}.${keyId}.${changed.toString('base64url')}`, owner));
    }
    for (let length = 0; length < encrypted.length; length++)
      assert.throws(() => cipher.decrypt(encrypted.slice(0, length), owner), `${length}`);
  });
});

// Several encryption keys as one: all of them decrypt, and one of them encrypts.
import { type Cipher, createCipher, DecryptionError, keyIdOf } from './encrypt.ts';

export interface Keyring {
  has(keyId: string): boolean;
  encrypt(keyId: string, value: string, owner: readonly string[]): string;
  /** Throws DecryptionError, also if the key is not in the ring. */
  decrypt(encrypted: string, owner: readonly string[]): string;
}

export function createKeyring(keys: readonly Buffer[]): Keyring {
  const ciphers = new Map(keys.map(createCipher).map((cipher) => [cipher.keyId, cipher]));

  function get(keyId: string): Cipher {
    const cipher = ciphers.get(keyId);
    if (cipher === undefined) throw new DecryptionError('it was encrypted with another key');
    return cipher;
  }

  return {
    has: (keyId) => ciphers.has(keyId),
    encrypt: (keyId, value, owner) => get(keyId).encrypt(value, owner),
    decrypt: (encrypted, owner) => get(keyIdOf(encrypted)).decrypt(encrypted, owner),
  };
}

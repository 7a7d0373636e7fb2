// Several encryption keys as one: any of them opens, one of them encrypts.
import { type Cipher, createCipher, DecryptionError, encryptedKeyId } from './encrypt.ts';

export interface Keyring {
  has(keyId: string): boolean;
  seal(keyId: string, value: string, owner: readonly string[]): string;
  /** Throws SealError, also where the key is not on the ring. */
  open(sealed: string, owner: readonly string[]): string;
}

export function createKeyring(keys: readonly Buffer[]): Keyring {
  const sealers = new Map(keys.map(createCipher).map((cipher) => [cipher.keyId, cipher]));

  function get(keyId: string): Cipher {
    const cipher = sealers.get(keyId);
    if (cipher === undefined) throw new DecryptionError('it was encrypted with another key');
    return cipher;
  }

  return {
    has: (keyId) => sealers.has(keyId),
    seal: (keyId, value, owner) => get(keyId).seal(value, owner),
    open: (sealed, owner) => get(encryptedKeyId(sealed)).open(sealed, owner),
  };
}

// Several sealing keys as one: any of them opens, one of them seals.
import { createSealer, SealError, type Sealer, sealedKeyId } from './encrypt.ts';

export interface Keyring {
  has(keyId: string): boolean;
  seal(keyId: string, value: string, owner: readonly string[]): string;
  /** Throws SealError, also where the key is not on the ring. */
  open(sealed: string, owner: readonly string[]): string;
}

export function createKeyring(keys: readonly Buffer[]): Keyring {
  const sealers = new Map(keys.map(createSealer).map((sealer) => [sealer.keyId, sealer]));

  function get(keyId: string): Sealer {
    const sealer = sealers.get(keyId);
    if (sealer === undefined) throw new SealError('it was sealed with another key');
    return sealer;
  }

  return {
    has: (keyId) => sealers.has(keyId),
    seal: (keyId, value, owner) => get(keyId).seal(value, owner),
    open: (sealed, owner) => get(sealedKeyId(sealed)).open(sealed, owner),
  };
}

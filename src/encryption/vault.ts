// The encryption keys, proven to fit this database before anything is served. The proof is also the key of the
// fingerprints: a random value, encrypted, so that a rotation changes neither.
import { hash, randomBytes } from 'node:crypto';
import type { Database } from '../db/transaction.ts';
import { AppError, RefusalError } from '../errors.ts';
import { DecryptionError, encryptedKeyId, encryptionKeyId } from './encrypt.ts';
import { createEncryptionKey, openKeyFile } from './keyFile.ts';
import { createKeyring, type Keyring } from './keyring.ts';
import { activeKeyFact, findFact, fingerprintFact, fingerprintOwner, keepFact } from './store.ts';

const fingerprintKeyBytes = 32;

export interface Vault {
  /** Seals with the key that is active as far as this process knows; a store tells when that has changed. */
  encrypt(value: string, owner: readonly string[]): string;
  decrypt(sealed: string, owner: readonly string[]): Promise<string>;
  /** Learns of a rotation: reads keys and the active one again. */
  refresh(): Promise<void>;
  /** A keyed digest: equal for equal text, and worthless to who has only the database. */
  fingerprint(text: string): string;
}

export interface VaultOptions {
  readonly database: Database;
  readonly dataDir: string;
  /** Keys of the environment; where there are none, the key file counts. */
  readonly secretKeys: readonly Buffer[];
}

function keyMissing(): AppError {
  return new AppError(
    'sealing_key_missing',
    'The encryption key was rotated and this process does not have the new one; the operator must restart it.',
    { retryAfterS: 60 },
  );
}

function remedy(file: string): string {
  return `Set PARLEY_SECRET_KEY to the key that this database was created with, or restore ${file}; without it the stored secrets cannot be decrypted.`;
}

/** Opens the vault; refuses a key that is missing or wrong for this database. */
export async function openVault({ database, dataDir, secretKeys }: VaultOptions): Promise<Vault> {
  const file = openKeyFile(dataDir);
  const readKeys = () => (secretKeys.length > 0 ? secretKeys : file.read());
  let keys = readKeys();
  let made = false;
  const proof = await database.run(findFact, fingerprintFact);
  if (keys.length === 0) {
    if (proof !== undefined) throw new RefusalError(`The encryption key is missing. ${remedy(file.path)}`);
    keys = [createEncryptionKey()];
    made = file.create(keys);
    if (!made) keys = file.read();
  }
  try {
    return await prove();
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    // Another process was first to start on this database: the key that we made encrypts nothing.
    if (made) file.remove();
    throw new RefusalError(`The encryption key is wrong: ${error.message}. ${remedy(file.path)}`);
  }

  async function prove(): Promise<Vault> {
    const [first = Buffer.alloc(0)] = keys;
    const firstId = encryptionKeyId(first);
    const fresh = createKeyring(keys).seal(
      firstId,
      randomBytes(fingerprintKeyBytes).toString('hex'),
      fingerprintOwner,
    );
    const kept = proof ?? (await database.run(keepFact, { name: fingerprintFact, value: fresh }));
    const fingerprintKey = Buffer.from(createKeyring(keys).open(kept, fingerprintOwner), 'hex');
    const activeId = await database.run(keepFact, { name: activeKeyFact, value: firstId });
    return createVault(createKeyring(keys), activeId, fingerprintKey);
  }

  function createVault(provenRing: Keyring, provenId: string, fingerprintKey: Buffer): Vault {
    let ring = provenRing;
    let activeId = provenId;
    const prefix = fingerprintKey.toString('hex');
    if (!ring.has(activeId)) throw new DecryptionError('it was encrypted with another key');

    async function refresh(): Promise<void> {
      ring = createKeyring(readKeys());
      activeId = (await database.run(findFact, activeKeyFact)) ?? activeId;
    }

    function seal(value: string, owner: readonly string[]): string {
      if (ring.has(activeId)) return ring.seal(activeId, value, owner);
      throw keyMissing();
    }

    async function open(sealed: string, owner: readonly string[]): Promise<string> {
      try {
        return ring.open(sealed, owner);
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        await refresh();
        if (!ring.has(encryptedKeyId(sealed))) throw keyMissing();
        return ring.open(sealed, owner);
      }
    }

    return {
      encrypt: seal,
      decrypt: open,
      refresh,
      // The key in front does here what HMAC does in a quarter of its time: digests are compared among
      // themselves alone, so that making one of a longer text, which HMAC prevents, gains nothing.
      fingerprint: (text) => hash('sha256', prefix + text, 'base64url'),
    };
  }
}

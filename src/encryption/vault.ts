// The encryption keys, checked against this database before anything is served. The check value is also the key of the
// fingerprints; it is random and stored encrypted, so that a rotation changes neither.
import { createHmac, hash, randomBytes } from 'node:crypto';
import type { Database } from '../db/transaction.ts';
import { AppError, RefusalError } from '../errors.ts';
import { DecryptionError, encryptionKeyId, keyIdOf } from './encrypt.ts';
import { createEncryptionKey, openKeyFile } from './keyFile.ts';
import { createKeyring, type Keyring } from './keyring.ts';
import { activeKeyFact, findFact, fingerprintFact, fingerprintOwner, keepFact } from './store.ts';

const fingerprintKeyBytes = 32;

export interface Vault {
  /** Encrypts with the active key as far as this process knows. The store detects if that has changed. */
  encrypt(value: string, owner: readonly string[]): string;
  decrypt(encrypted: string, owner: readonly string[]): Promise<string>;
  /** Reads the keys and the active one again, after a rotation. */
  refresh(): Promise<void>;
  /** A keyed digest: equal for equal texts, and useless to someone who has only the database. */
  fingerprint(text: string): string;
  /** Authenticates a text for one purpose. All processes of the database compute the same. */
  mac(purpose: string, text: string): string;
}

export interface VaultOptions {
  readonly database: Database;
  readonly dataDir: string;
  /** Keys from the environment. If there are none, the key file is used. */
  readonly secretKeys: readonly Buffer[];
}

function keyMissing(): AppError {
  return new AppError(
    'sealing_key_missing',
    'The encryption key was rotated and this process does not have the new one; the operator must restart it.',
    { retryAfterS: 60 },
  );
}

function remedy(file: string, { kind }: Database): string {
  const others =
    kind === 'postgres'
      ? ' All machines on this database need the same one: it is in PARLEY_SECRET_KEY or secret.key of the first.'
      : '';
  return `Set PARLEY_SECRET_KEY to the key that this database was created with, or restore ${file}; without it the stored secrets cannot be decrypted.${others}`;
}

/** Opens the vault; refuses a key that is missing or wrong for this database. */
export async function openVault({ database, dataDir, secretKeys }: VaultOptions): Promise<Vault> {
  const file = openKeyFile(dataDir);
  const readKeys = () => (secretKeys.length > 0 ? secretKeys : file.read());
  let keys = readKeys();
  let created = false;
  const proof = await database.run(findFact, fingerprintFact);
  if (keys.length === 0) {
    if (proof !== undefined)
      throw new RefusalError(`The encryption key is missing. ${remedy(file.path, database)}`);
    keys = [createEncryptionKey()];
    created = file.create(keys);
    if (!created) keys = file.read();
  }
  try {
    return await prove();
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    // Another process has started on this database first, so our new key encrypts nothing.
    if (created) file.remove();
    throw new RefusalError(`The encryption key is wrong: ${error.message}. ${remedy(file.path, database)}`);
  }

  async function prove(): Promise<Vault> {
    const [first = Buffer.alloc(0)] = keys;
    const firstId = encryptionKeyId(first);
    const fresh = createKeyring(keys).encrypt(
      firstId,
      randomBytes(fingerprintKeyBytes).toString('hex'),
      fingerprintOwner,
    );
    const kept = proof ?? (await database.run(keepFact, { name: fingerprintFact, value: fresh }));
    const fingerprintKey = Buffer.from(createKeyring(keys).decrypt(kept, fingerprintOwner), 'hex');
    const activeId = await database.run(keepFact, { name: activeKeyFact, value: firstId });
    return createVault(createKeyring(keys), activeId, fingerprintKey);
  }

  function createVault(provenRing: Keyring, provenId: string, fingerprintKey: Buffer): Vault {
    let keyring = provenRing;
    let activeId = provenId;
    const prefix = fingerprintKey.toString('hex');
    if (!keyring.has(activeId)) throw new DecryptionError('it was encrypted with another key');

    async function refresh(): Promise<void> {
      keyring = createKeyring(readKeys());
      activeId = (await database.run(findFact, activeKeyFact)) ?? activeId;
    }

    function seal(value: string, owner: readonly string[]): string {
      if (keyring.has(activeId)) return keyring.encrypt(activeId, value, owner);
      throw keyMissing();
    }

    async function open(encrypted: string, owner: readonly string[]): Promise<string> {
      try {
        return keyring.decrypt(encrypted, owner);
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        await refresh();
        if (!keyring.has(keyIdOf(encrypted))) throw keyMissing();
        return keyring.decrypt(encrypted, owner);
      }
    }

    return {
      encrypt: seal,
      decrypt: open,
      refresh,
      // A prefixed key is enough here and takes a quarter of the time of HMAC. Digests are only compared with each
      // other, so the length extension that HMAC prevents gains nothing.
      fingerprint: (text) => hash('sha256', prefix + text, 'base64url'),
      mac: (purpose, text) =>
        createHmac('sha256', fingerprintKey).update(`${purpose}\0${text}`).digest('base64url'),
    };
  }
}

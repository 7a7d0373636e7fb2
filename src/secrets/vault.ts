// Finds the sealing key and proves that it fits this database, before anything is served. The proof is also
// the key of the fingerprints: a random value, sealed, so that rotation changes neither.
import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../db/transaction.ts';
import { RefusalError } from '../errors.ts';
import { createSealer, SealError, type Sealer } from './sealing.ts';
import { findFact, keepFact } from './store.ts';

const keyBytes = 32;
const factName = 'fingerprint-key';
const factOwner = ['fact', factName];

export interface Vault {
  readonly sealer: Sealer;
  /** A keyed digest: equal for equal text, and worthless to who has only the database. */
  fingerprint(text: string): string;
}

interface VaultOptions {
  readonly database: Database;
  readonly dataDir: string;
  readonly secretKey: Buffer | undefined;
}

function readKeyFile(file: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new RefusalError(`The key file ${file} cannot be read: ${(error as Error).message}.`);
  }
  const key = Buffer.from(text, 'hex');
  if (!/^[0-9a-f]{64}$/i.test(text) || key.length !== keyBytes)
    throw new RefusalError(
      `The key file ${file} is damaged: it must hold 64 hex digits. Restore it from a backup.`,
    );
  return key;
}

function makeKeyFile(file: string): Buffer {
  const key = randomBytes(keyBytes);
  writeFileSync(file, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return key;
}

const wayOut = (file: string) =>
  `Set PARLEY_SECRET_KEY to the key that this database was made with, or restore ${file}; without it the stored secrets cannot be opened.`;

/** Opens the vault; refuses a key that is missing or wrong for this database. */
export async function openVault({ database, dataDir, secretKey }: VaultOptions): Promise<Vault> {
  const file = join(dataDir, 'secret.key');
  const existing = await database.run(findFact, factName);
  let key = secretKey ?? readKeyFile(file);
  let made = false;
  if (key === undefined) {
    if (existing !== undefined) throw new RefusalError(`The sealing key is missing. ${wayOut(file)}`);
    key = makeKeyFile(file);
    made = true;
  }
  const sealer = createSealer(key);
  const fact =
    existing ??
    (await database.run(keepFact, {
      name: factName,
      value: sealer.seal(randomBytes(keyBytes).toString('hex'), factOwner),
    }));
  try {
    const fingerprintKey = Buffer.from(sealer.open(fact, factOwner), 'hex');
    return {
      sealer,
      fingerprint: (text) => createHmac('sha256', fingerprintKey).update(text).digest('base64url'),
    };
  } catch (error) {
    // Another process was first to start on this database: the key that we just made seals nothing.
    if (made) rmSync(file, { force: true });
    if (!(error instanceof SealError)) throw error;
    throw new RefusalError(`The sealing key is not the right one: ${error.message}. ${wayOut(file)}`);
  }
}

// Changes the encryption key while the service runs. It can be interrupted at any point and run again; the old key
// is given up only when nothing is encrypted with it.
import { lockRotation } from '../db/folderLocks.ts';
import { RefusalError } from '../errors.ts';
import { DecryptionError, encryptionKeyId } from './encrypt.ts';
import { createEncryptionKey, openKeyFile } from './keyFile.ts';
import { createKeyring, type Keyring } from './keyring.ts';
import {
  activateKey,
  type EncryptedLocation,
  findFact,
  fingerprintFact,
  fingerprintOwner,
  listStale,
  ownerOf,
  type Reencryption,
  reencryptAll,
} from './store.ts';
import type { VaultOptions } from './vault.ts';

const batchMax = 100;
const damagedShown = 5;

export interface RotationResult {
  readonly keyId: string;
  readonly resealed: number;
  /** The file holds the new key alone; otherwise the operator drops the old one from the environment. */
  readonly inFile: boolean;
}

/** The keys at hand, proven to open this database before anything is changed. */
async function provenKeys({ database, dataDir, secretKeys }: VaultOptions): Promise<readonly Buffer[]> {
  const proof = await database.run(findFact, fingerprintFact);
  if (proof === undefined) throw new RefusalError('There is no encryption key yet: start the server once.');
  const keys = secretKeys.length > 0 ? secretKeys : openKeyFile(dataDir).read();
  try {
    createKeyring(keys).decrypt(proof, fingerprintOwner);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw new RefusalError(
      'The available keys cannot decrypt this database; nothing was changed. Run this with the PARLEY_SECRET_KEY or the data folder that the server uses.',
    );
  }
  return keys;
}

/** The keys to use, the target first. A file that already holds two is a rotation to carry on with. */
function chooseKeys(keys: readonly Buffer[], { dataDir, secretKeys }: VaultOptions): readonly Buffer[] {
  if (keys.length > 1) return keys;
  if (secretKeys.length === 1)
    throw new RefusalError(
      'The key comes from PARLEY_SECRET_KEY. Set it to NEW,OLD for every process (openssl rand -hex 32 creates a new one), restart them, and run this again with the same value.',
    );
  const both = [createEncryptionKey(), ...keys];
  openKeyFile(dataDir).write(both);
  return both;
}

function reencrypt(ring: Keyring, keyId: string, place: EncryptedLocation): Reencryption[] {
  const owner = ownerOf(place);
  try {
    return [{ ...place, reencrypted: ring.encrypt(keyId, ring.decrypt(place.encrypted, owner), owner) }];
  } catch (error) {
    if (error instanceof DecryptionError) return [];
    throw error;
  }
}

function damaged(places: readonly EncryptedLocation[]): RefusalError {
  const shown = places.slice(0, damagedShown).map((place) => ownerOf(place).join(' '));
  return new RefusalError(
    `Neither key decrypts ${places.length} of the stored values (${shown.join('; ')}). Store them again or delete them, then run this again; both keys are kept.`,
  );
}

/** Seals everything anew. Refuses where another rotation is under way, or a text cannot be opened. */
export async function rotate(
  options: VaultOptions,
  progress: (resealed: number) => void = () => {},
): Promise<RotationResult> {
  const unlock = lockRotation(options.dataDir);
  try {
    return await rotateLocked(options, progress);
  } finally {
    unlock();
  }
}

async function rotateLocked(
  options: VaultOptions,
  progress: (resealed: number) => void,
): Promise<RotationResult> {
  const { database, dataDir, secretKeys } = options;
  const keys = chooseKeys(await provenKeys(options), options);
  const [target = Buffer.alloc(0)] = keys;
  const keyId = encryptionKeyId(target);
  const ring = createKeyring(keys);
  await database.run(activateKey, { keyId, by: 'command-line' });
  let resealed = 0;
  for (let after = 0; ; ) {
    const stale = await database.run(listStale, { keyId, max: batchMax, after });
    const opened = stale.flatMap((place) => reencrypt(ring, keyId, place));
    const reached = Math.max(after, ...stale.map(({ key }) => key));
    if (opened.length === 0 && reached === after) break;
    after = reached;
    await database.run(reencryptAll, opened);
    resealed += opened.length;
    progress(resealed);
  }
  const left = await database.run(listStale, { keyId, max: batchMax, after: 0 });
  if (left.length > 0) throw damaged(left);
  const inFile = secretKeys.length === 0;
  if (inFile) openKeyFile(dataDir).finish(target);
  return { keyId, resealed, inFile };
}

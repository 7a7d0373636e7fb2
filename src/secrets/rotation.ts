// Changes the sealing key while the service runs. It can be interrupted at any point and run again; the old key
// is given up only when nothing is sealed with it.
import { RefusalError } from '../errors.ts';
import { createSealingKey, openKeyFile } from './keyFile.ts';
import { createKeyring, type Keyring } from './keyring.ts';
import { SealError, sealingKeyId } from './sealing.ts';
import {
  activateKey,
  findFact,
  fingerprintFact,
  listStale,
  ownerOf,
  type Reseal,
  resealAll,
  type SealedPlace,
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

/** The keys to use, the target first. A file that already holds two is a rotation to carry on with. */
function chooseKeys({ dataDir, secretKeys }: VaultOptions): readonly Buffer[] {
  if (secretKeys.length > 1) return secretKeys;
  if (secretKeys.length === 1)
    throw new RefusalError(
      'The key comes from PARLEY_SECRET_KEY. Set it to NEW,OLD for every process (openssl rand -hex 32 makes a new one), restart them, and run this again with the same value.',
    );
  const file = openKeyFile(dataDir);
  const keys = file.read();
  if (keys.length === 0) throw new RefusalError('There is no sealing key yet: start the service once.');
  if (keys.length > 1) return keys;
  const both = [createSealingKey(), ...keys];
  file.write(both);
  return both;
}

function reseal(ring: Keyring, keyId: string, place: SealedPlace): Reseal[] {
  const owner = ownerOf(place);
  try {
    return [{ ...place, resealed: ring.seal(keyId, ring.open(place.sealed, owner), owner) }];
  } catch (error) {
    if (error instanceof SealError) return [];
    throw error;
  }
}

function damaged(places: readonly SealedPlace[]): RefusalError {
  const shown = places.slice(0, damagedShown).map((place) => ownerOf(place).join(' '));
  return new RefusalError(
    `${places.length} sealed texts can be opened with neither key (${shown.join('; ')}). Store or delete them anew, then run this again; both keys are kept.`,
  );
}

export async function rotate(
  options: VaultOptions,
  progress: (resealed: number) => void = () => {},
): Promise<RotationResult> {
  const { database, dataDir, secretKeys } = options;
  if ((await database.run(findFact, fingerprintFact)) === undefined)
    throw new RefusalError('There is nothing sealed yet: start the service once.');
  const keys = chooseKeys(options);
  const [target = Buffer.alloc(0)] = keys;
  const keyId = sealingKeyId(target);
  const ring = createKeyring(keys);
  await database.run(activateKey, { keyId, by: 'command-line' });
  let resealed = 0;
  for (;;) {
    const stale = await database.run(listStale, { keyId, max: batchMax });
    if (stale.length === 0) break;
    const opened = stale.flatMap((place) => reseal(ring, keyId, place));
    if (opened.length === 0) throw damaged(stale);
    await database.run(resealAll, opened);
    resealed += opened.length;
    progress(resealed);
  }
  const inFile = secretKeys.length === 0;
  if (inFile) openKeyFile(dataDir).write([target]);
  return { keyId, resealed, inFile };
}

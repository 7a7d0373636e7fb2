// Tries a blob store: writes, reads, lists and removes a blob, as the service does.
import { randomBytes } from 'node:crypto';
import { type BlobStore, BlobStoreError } from './blobStore.ts';

/** How long all calls together may take. */
const checkMs = 5_000;
const nameBytes = 16;
const contentBytes = 64;

/** Why the store cannot be used; undefined if it can. Never rejects for a fault of the store. */
export async function findStoreFault(store: BlobStore): Promise<BlobStoreError | undefined> {
  const signal = AbortSignal.timeout(checkMs);
  const [folder, file] = [randomBytes(nameBytes).toString('hex'), randomBytes(nameBytes).toString('hex')];
  const bytes = randomBytes(contentBytes);
  try {
    await store.put(folder, file, bytes, signal);
    const found = await store.get(folder, file, contentBytes, signal);
    const listed = await store.list(folder, 2, signal);
    await store.remove(folder, [file], signal);
    if (found === undefined || !found.equals(bytes))
      return new BlobStoreError('it does not return what was written');
    if (!listed.includes(file)) return new BlobStoreError('it does not list what was written');
    const left = await store.get(folder, file, contentBytes, signal);
    return left && new BlobStoreError('it does not remove what is no longer needed');
  } catch (error) {
    if (error instanceof BlobStoreError) return error;
    throw error;
  } finally {
    // Nobody knows of the blob if something has failed in between.
    await store.remove(folder, [file], AbortSignal.timeout(checkMs)).catch(() => {});
  }
}

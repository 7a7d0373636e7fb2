// Calls of the blob store for one conversation, each with a timeout, and a few at a time.
import type { BlobStore } from '../../blobs/blobStore.ts';
import { blobBytesMax, callsAtOnce, contentsBytesMax, storeCallMs } from './bounds.ts';
import { type BlobBox, type Contents, DamagedSnapshot, packContents, unpackContents } from './contents.ts';

export type SnapshotBlobs = ReturnType<typeof createSnapshotBlobs>;

/** Runs the work for each item, a few at a time. The first error ends it. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const run = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(callsAtOnce, items.length) }, run));
}

export function createSnapshotBlobs(store: BlobStore, folder: string, box: BlobBox) {
  const within = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(storeCallMs)]);

  async function getBlob(name: string, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
    const blob = await store.get(folder, name, bytesMax, within(signal));
    if (blob === undefined)
      throw new DamagedSnapshot(`the blob ${folder}/${name} is missing in the snapshot store`);
    return box.open(name, blob);
  }

  return {
    /** Sends encrypted pieces. */
    putAll: (
      names: readonly string[],
      read: (name: string) => Promise<Buffer>,
      signal: AbortSignal,
      onBytes: (bytes: number) => void = () => {},
    ) =>
      each(names, async (name) => {
        const bytes = await read(name);
        await store.put(folder, name, bytes, within(signal));
        onBytes(bytes.length);
      }),
    putContents: async (name: string, contents: Contents, signal: AbortSignal) =>
      store.put(folder, name, box.seal(name, await packContents(contents)), within(signal)),
    /** Throws DamagedSnapshot, and BlobStoreError if the store cannot be used. */
    getContents: async (name: string, signal: AbortSignal): Promise<Contents> =>
      unpackContents(await getBlob(name, contentsBytesMax, signal)),
    getPiece: (name: string, signal: AbortSignal) => getBlob(name, blobBytesMax, signal),
    list: (max: number, signal: AbortSignal) => store.list(folder, max, within(signal)),
    remove: async (names: readonly string[], signal: AbortSignal) => {
      if (names.length > 0) await store.remove(folder, names, within(signal));
    },
  };
}

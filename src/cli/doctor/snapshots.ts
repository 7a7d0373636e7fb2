// Checks the store for snapshots: that it is the one of this service, and that blobs can be written, read and removed.
import { type BlobStore, BlobStoreError } from '../../blobs/blobStore.ts';
import { findStoreFault } from '../../blobs/findStoreFault.ts';
import { openBlobStore } from '../../blobs/openBlobStore.ts';
import type { Config } from '../../config.ts';
import { markingFault, readMarking } from '../../workspaces/snapshots/marker.ts';
import { withDatabase } from '../backends/database.ts';
import { type Finding, ok, wrong } from './finding.ts';

const markerMsMax = 5_000;

/** Why the store is not the one of this service, or cannot be read. */
async function findMarkingFault(store: BlobStore): Promise<BlobStoreError | undefined> {
  try {
    return await withDatabase(async (database) =>
      markingFault(await readMarking(database, store, AbortSignal.timeout(markerMsMax))),
    );
  } catch (error) {
    if (error instanceof BlobStoreError) return error;
    throw error;
  }
}

/** Nothing if snapshots are off, as far as the environment of this command says. */
export async function checkSnapshots(
  { snapshots: location }: Pick<Config, 'snapshots'>,
  isDatabaseReady: boolean,
): Promise<Finding[]> {
  if (location === undefined) return [];
  const store = openBlobStore(location);
  try {
    // Nothing is written to a store of another service.
    const fault =
      (isDatabaseReady ? await findMarkingFault(store) : undefined) ?? (await findStoreFault(store));
    if (fault === undefined)
      return [ok('snapshots', `A blob was written to ${store.name}, read and removed.`)];
    const remedy =
      location.kind === 'folder'
        ? 'The folder must exist on every machine, and the user of the service must be able to write there. Run this command as that user.'
        : 'Check the bucket, AWS_REGION, AWS_ENDPOINT_URL_S3, and that the credentials may put, get, list and delete objects.';
    return [
      wrong(
        'snapshots',
        `The snapshot store ${store.name} cannot be used: ${fault.message}.`,
        fault.remedy ?? remedy,
      ),
    ];
  } finally {
    store.close();
  }
}

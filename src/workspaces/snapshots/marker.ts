// The snapshot store has a marker that names the service whose snapshots it holds. Without it, an empty folder below which
// a file system is not mounted, or the store of another service, would be taken for a store that has lost everything.
import { randomBytes } from 'node:crypto';
import { type BlobStore, BlobStoreError } from '../../blobs/blobStore.ts';
import type { Database } from '../../db/transaction.ts';
import { commandName } from '../../process/program.ts';
import { kib } from '../../validation/schema.ts';
import { findServiceId, keepServiceId } from '../serviceId.ts';
import { contentsBytesMax } from './bounds.ts';
import { listStoredBlobs } from './store.ts';

export const markerFolder = 'parley';
const markerFile = 'service';
const markerBytesMax = 4 * kib;
const format = 'parley-snapshots';
const version = 1;

const idBytes = 16;
/** One of them is enough: nobody can guess their names. */
const triedBlobsMax = 5;

/** What the marker says about a store. */
export interface Marking {
  readonly state: MarkingState;
  /** Two stores never have the same one. Undefined without a marker of this service. */
  readonly storeId?: string | undefined;
}

export type MarkingState =
  /** It belongs to this service. */
  | 'own'
  /** It has no marker, and nothing says that this service has used another one. */
  | 'new'
  /** It has no marker and none of the blobs that it should have. */
  | 'lost'
  /** It belongs to another service. */
  | 'foreign';

/** The store works, but it is not the one of this service. Nothing may be changed there. */
export class WrongStoreError extends BlobStoreError {}

export function markingFault({ state }: Marking): WrongStoreError | undefined {
  if (state === 'foreign')
    return new WrongStoreError('it belongs to another Parley service', {
      remedy: 'Set PARLEY_SNAPSHOTS to the store of this service, or to a new folder or prefix.',
    });
  if (state === 'lost')
    return new WrongStoreError('the snapshots of this service are not there', {
      remedy: `Mount the right file system, correct PARLEY_SNAPSHOTS, or bring the store back from a backup. If the snapshots are lost for good, "${commandName} snapshots accept-store" lets the service use the store as it is.`,
    });
  return undefined;
}

async function hasStoredBlob(database: Database, store: BlobStore, signal: AbortSignal): Promise<boolean> {
  for (const { id, blob } of await database.run(listStoredBlobs, triedBlobsMax))
    if ((await store.get(id, blob, contentsBytesMax, signal)) !== undefined) return true;
  return false;
}

interface Marker {
  readonly service: string;
  readonly store: string;
}

function parseMarker(bytes: Buffer): Marker | undefined {
  try {
    const { format: found, service, store } = JSON.parse(bytes.toString()) as Record<string, unknown>;
    const isWhole = found === format && typeof service === 'string' && typeof store === 'string';
    return isWhole ? { service, store } : undefined;
  } catch {
    return undefined;
  }
}

/** Changes nothing. A store of an earlier version has no marker, but the blobs that the database names. */
export async function readMarking(
  database: Database,
  store: BlobStore,
  signal: AbortSignal,
): Promise<Marking> {
  const bytes = await store.get(markerFolder, markerFile, markerBytesMax, signal);
  const serviceId = await findServiceId(database);
  if (bytes !== undefined) {
    const marker = parseMarker(bytes);
    const isOwn = marker !== undefined && marker.service === serviceId;
    return isOwn ? { state: 'own', storeId: marker.store } : { state: 'foreign' };
  }
  const [known] = await database.run(listStoredBlobs, 1);
  const isNew = known === undefined || (await hasStoredBlob(database, store, signal));
  return { state: isNew ? 'new' : 'lost' };
}

/** Makes the store that of this service. If several processes do so at the same time, the marker of the last one stays. */
export async function markStore(database: Database, store: BlobStore, signal: AbortSignal): Promise<void> {
  const service = await keepServiceId(database);
  const id = randomBytes(idBytes).toString('hex');
  const marker = Buffer.from(`${JSON.stringify({ format, version, service, store: id })}\n`);
  await store.put(markerFolder, markerFile, marker, signal);
}

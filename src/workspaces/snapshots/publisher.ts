// Puts the copies of one run into the store, makes each the snapshot that is restored, and removes blobs that are not
// needed any more.
import type { Run } from '../../conversations/run/records.ts';
import type { Database } from '../../db/transaction.ts';
import { storeMsMax } from './bounds.ts';
import {
  type BlobBox,
  type Contents,
  isSameContents,
  newBlobName,
  type Piece,
  piecesOf,
} from './contents.ts';
import type { Copy } from './copy.ts';
import { publishSnapshot, type SnapshotRow } from './store.ts';
import type { SnapshotBlobs } from './storeCalls.ts';

/** Blobs of a conversation that are looked at to find those that a crash has left. */
const listedMax = 100_000;
const removedAtOnce = 500;
const loadContentsMs = 5_000;

export interface OpenedSnapshot {
  readonly row: SnapshotRow;
  readonly box: BlobBox;
}

interface PublisherOptions {
  readonly database: Database;
  readonly run: Run;
  readonly row: SnapshotRow;
  readonly blobs: SnapshotBlobs;
  /** Ends all calls of the store. */
  readonly ending: AbortSignal;
  /** Pieces that other copies of the run refer to, which must not be removed. */
  readonly inUse: () => readonly Piece[];
  /** Called with the size of each blob that the store has taken. */
  readonly onBytes: (bytes: number) => void;
  /** Called when blobs that are not needed could not be removed. The next snapshot tries again. */
  readonly onRemovalFailure: (error: Error) => void;
}

/** `lost`: the run no longer owns the conversation, or its snapshot was discarded. */
export type Publication = 'stored' | 'unchanged' | 'lost';

export interface Publisher {
  /** The pieces of the last snapshot, which need not be stored again. */
  loadKnown(): Promise<readonly Piece[]>;
  /** Throws BlobStoreError; the snapshot before stays then. */
  publish(copy: Copy, heard: number): Promise<Publication>;
  /** Whether the store has lost blobs of the last snapshot, so that a new one must be stored. */
  hasGaps(): boolean;
}

interface Published {
  readonly name: string;
  readonly contents: Contents;
  readonly heard: number | null;
}

/** What is known about the blobs of the conversation, compared with the last snapshot. */
type BlobState =
  /** There may be blobs that a crash or a failure has left. */
  | 'unchecked'
  /** There are exactly those of the last snapshot. */
  | 'exact'
  /** Some of the last snapshot are missing, so the next one must not build on it. */
  | 'gaps';

const inParts = <Item>(items: readonly Item[], size: number) =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

const namesOf = ({ name, contents }: Published) => [name, ...piecesOf(contents).map((piece) => piece.name)];

export function createPublisher(options: PublisherOptions): Publisher {
  const { database, run, row, blobs, ending, inUse, onBytes, onRemovalFailure } = options;
  /** Undefined until it was read; null if there is none that can be read. */
  let published: Published | null | undefined;
  let state: BlobState = 'unchecked';

  /** If the previous snapshot cannot be read, everything is stored again. */
  async function readPublished(): Promise<Published | null> {
    const { blob, heard } = row;
    if (blob === null) return null;
    const signal = AbortSignal.any([ending, AbortSignal.timeout(loadContentsMs)]);
    const contents = await blobs.getContents(blob, signal).catch(() => undefined);
    return contents === undefined ? null : { name: blob, contents, heard };
  }

  async function loadKnown(): Promise<readonly Piece[]> {
    if (published === undefined) published = await readPublished();
    return published === null || state === 'gaps' ? [] : piecesOf(published.contents);
  }

  /** What is not needed any more is removed last, so that there is always a whole snapshot. */
  async function removeOthers(before: Published | null, after: Published, signal: AbortSignal) {
    const needed = new Set(namesOf(after));
    // A run that crashed may have left some.
    const wasExact = state === 'exact';
    const found = wasExact ? (before === null ? [] : namesOf(before)) : await blobs.list(listedMax, signal);
    const isWhole = wasExact || found.length >= listedMax || needed.isSubsetOf(new Set(found));
    state = isWhole ? 'unchecked' : 'gaps';
    const used = new Set(inUse().map(({ name }) => name));
    const unneeded = [...new Set(found)].filter((name) => !needed.has(name));
    const removable = unneeded.filter((name) => !used.has(name));
    for (const part of inParts(removable, removedAtOnce)) await blobs.remove(part, signal);
    if (isWhole && removable.length === unneeded.length) state = 'exact';
  }

  async function store(copy: Copy, heard: number): Promise<Publication> {
    const { contents, takenAt } = copy;
    const before = published ?? null;
    if (state !== 'gaps' && before?.heard === heard && isSameContents(before.contents, contents))
      return 'unchanged';
    const signal = AbortSignal.any([ending, AbortSignal.timeout(storeMsMax)]);
    const name = newBlobName();
    const fresh = [...new Set(piecesOf(contents).map((piece) => piece.name))].filter(copy.isNew);
    await blobs.putAll(fresh, copy.read, signal, onBytes);
    await blobs.putContents(name, contents, signal);
    const publication = { ...run, id: row.id, blob: name, takenAt, heard };
    if (!(await database.run(publishSnapshot, publication))) {
      await blobs.remove([...fresh, name], signal);
      return 'lost';
    }
    published = { name, contents, heard };
    await removeOthers(before, published, signal).catch((error: Error) => {
      if (!ending.aborted) onRemovalFailure(error);
    });
    return 'stored';
  }

  return {
    loadKnown,
    publish: async (copy, heard) => {
      try {
        return await store(copy, heard);
      } catch (error) {
        // It may have left blobs.
        if (state === 'exact') state = 'unchecked';
        throw error;
      }
    },
    hasGaps: () => state === 'gaps',
  };
}

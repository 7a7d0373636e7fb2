// Puts the copies of one run into the store, makes each the snapshot that is restored, and removes blobs that are not
// needed any more.
import type { Run } from '../../conversations/run/records.ts';
import type { Database } from '../../db/transaction.ts';
import { storeMsMax } from './bounds.ts';
import {
  type BlobBox,
  type Contents,
  DamagedSnapshot,
  isSameContents,
  newBlobName,
  type Piece,
  piecesOf,
} from './contents.ts';
import type { Copy } from './copy.ts';
import { publishSnapshot, type SnapshotRow } from './store.ts';
import type { SnapshotBlobs } from './storeCalls.ts';
import { listNeededBlobs, type SnapshotTurn } from './turnStore.ts';

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
  publish(copy: Copy, heard: number, turn: SnapshotTurn | null): Promise<Publication>;
  /** Whether the store has lost blobs of the last snapshot, so that a new one must be stored. */
  hasGaps(): boolean;
}

interface Published {
  readonly name: string;
  readonly contents: Contents;
  readonly heard: number | null;
  /** These files are recorded as those after a turn. */
  readonly isTurn: boolean;
}

/** What is known about the blobs of the conversation, compared with the last snapshot. */
type BlobState =
  /** There may be blobs that a crash or a failure has left. */
  | 'unchecked'
  /** There are exactly those that are needed. */
  | 'exact'
  /** Some of the last snapshot are missing, so the next one must not build on it. */
  | 'gaps';

const inParts = <Item>(items: readonly Item[], size: number) =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

const namesOf = ({ name, contents }: Pick<Published, 'name' | 'contents'>) => [
  name,
  ...piecesOf(contents).map((piece) => piece.name),
];

export function createPublisher(options: PublisherOptions): Publisher {
  const { database, run, row, blobs, ending, inUse, onBytes, onRemovalFailure } = options;
  /** Undefined until it was read; null if there is none that can be read. */
  let published: Published | null | undefined;
  let state: BlobState = 'unchecked';
  /** The names of the blobs of other snapshots that are needed, by the blob that lists them. */
  let others: ReadonlyMap<string, readonly string[]> = new Map();

  /** If the previous snapshot cannot be read, everything is stored again. */
  async function readPublished(): Promise<Published | null> {
    const { blob, heard } = row;
    if (blob === null) return null;
    const signal = AbortSignal.any([ending, AbortSignal.timeout(loadContentsMs)]);
    const contents = await blobs.getContents(blob, signal).catch(() => undefined);
    return contents === undefined ? null : { name: blob, contents, heard, isTurn: false };
  }

  async function loadKnown(): Promise<readonly Piece[]> {
    if (published === undefined) published = await readPublished();
    return published === null || state === 'gaps' ? [] : piecesOf(published.contents);
  }

  /** A list that was lost or changed is of no use, so its pieces are not needed. Throws if the store cannot be used. */
  async function namesIn(list: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return namesOf({ name: list, contents: await blobs.getContents(list, signal) });
    } catch (error) {
      if (error instanceof DamagedSnapshot) return [list];
      throw error;
    }
  }

  /** Reads which blobs the turns before and forks need. */
  async function loadOthers(before: Published | null, after: Published, signal: AbortSignal) {
    const known = new Map(others);
    if (before !== null) known.set(before.name, namesOf(before));
    const needed = new Map<string, readonly string[]>();
    for (const list of await database.run(listNeededBlobs, row.id))
      if (list !== after.name) needed.set(list, known.get(list) ?? (await namesIn(list, signal)));
    return needed;
  }

  /** What is not needed any more is removed last, so that there is always a whole snapshot. */
  async function removeOthers(before: Published | null, after: Published, signal: AbortSignal) {
    const own = new Set(namesOf(after));
    // A run that crashed may have left some.
    const wasExact = state === 'exact';
    const known = [...(before === null ? [] : namesOf(before)), ...[...others.values()].flat()];
    const found = wasExact ? known : await blobs.list(listedMax, signal);
    const isWhole = wasExact || found.length >= listedMax || own.isSubsetOf(new Set(found));
    state = isWhole ? 'unchecked' : 'gaps';
    others = await loadOthers(before, after, signal);
    const needed = own.union(new Set([...others.values()].flat()));
    const used = new Set(inUse().map(({ name }) => name));
    const unneeded = [...new Set(found)].filter((name) => !needed.has(name));
    const removable = unneeded.filter((name) => !used.has(name));
    for (const part of inParts(removable, removedAtOnce)) await blobs.remove(part, signal);
    if (isWhole && removable.length === unneeded.length) state = 'exact';
  }

  async function store(copy: Copy, heard: number, turn: SnapshotTurn | null): Promise<Publication> {
    const { contents, takenAt } = copy;
    const before = published ?? null;
    const isRecorded = before?.heard === heard && (before.isTurn || turn === null);
    if (state !== 'gaps' && isRecorded && isSameContents(before.contents, contents)) return 'unchanged';
    const signal = AbortSignal.any([ending, AbortSignal.timeout(storeMsMax)]);
    const name = newBlobName();
    const fresh = [...new Set(piecesOf(contents).map((piece) => piece.name))].filter(copy.isNew);
    await blobs.putAll(fresh, copy.read, signal, onBytes);
    await blobs.putContents(name, contents, signal);
    const publication = { ...run, id: row.id, blob: name, takenAt, heard, turn };
    if (!(await database.run(publishSnapshot, publication))) {
      await blobs.remove([...fresh, name], signal);
      return 'lost';
    }
    published = { name, contents, heard, isTurn: turn !== null };
    await removeOthers(before, published, signal).catch((error: Error) => {
      if (!ending.aborted) onRemovalFailure(error);
    });
    return 'stored';
  }

  return {
    loadKnown,
    publish: async (copy, heard, turn) => {
      try {
        return await store(copy, heard, turn);
      } catch (error) {
        // It may have left blobs.
        if (state === 'exact') state = 'unchecked';
        throw error;
      }
    },
    hasGaps: () => state === 'gaps',
  };
}

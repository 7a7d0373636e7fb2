// The snapshots of one run: the files are copied after each turn, and the copies are stored one after the other in the
// background. If there are several, only the latest is stored.
import type { BlobStore } from '../../blobs/blobStore.ts';
import type { Run } from '../../conversations/run/records.ts';
import type { Database } from '../../db/transaction.ts';
import { endWaitMs, storeMsMax, turnWaitMs } from './bounds.ts';
import {
  type BlobBox,
  type Contents,
  isSameContents,
  newBlobName,
  type Piece,
  piecesOf,
} from './contents.ts';
import type { Copy } from './copy.ts';
import type { Summary } from './inside/sections.ts';
import { publishSnapshot, type SnapshotRow } from './store.ts';
import { createSnapshotBlobs, type SnapshotBlobs } from './storeCalls.ts';

/** Blobs of a conversation that are looked at to find those that a crash has left. */
const listedMax = 100_000;
const removedAtOnce = 500;
const loadContentsMs = 5_000;

export interface OpenedSnapshot {
  readonly row: SnapshotRow;
  readonly box: BlobBox;
}

export interface RunSnapshotsOptions {
  readonly database: Database;
  readonly store: BlobStore;
  readonly run: Run;
  /** Creates or finds the row. Undefined if the run no longer owns the conversation. */
  readonly open: () => Promise<OpenedSnapshot | undefined>;
  /** Copies the files. Undefined if there are none. */
  readonly copy: (
    opened: OpenedSnapshot,
    known: ReadonlyMap<string, Piece>,
    heard: number,
    signal: AbortSignal,
  ) => Promise<Copy | undefined>;
  readonly isHeld: () => boolean;
  /** How long the end of the run waits for the store. */
  readonly endMs?: number | undefined;
  /** Called when what is left out has changed. */
  readonly onSummary: (summary: Summary) => void;
  /** Called once, and again only after a success. */
  readonly onFailure: (error: Error) => void;
  /** Called when blobs that are not needed could not be removed. The next snapshot tries again. */
  readonly onRemovalFailure?: (error: Error) => void;
}

export interface RunSnapshots {
  /** Begins to copy the files. `heard`: the agent had been given what the user said before this event. */
  take(heard: number): void;
  /** Settles when no copy is being made, or after a while. */
  copied(): Promise<void>;
  /** Copies the files for the last time, and waits until that is stored, within bounds. */
  finish(heard: number): Promise<void>;
  /** Ends everything at once; the last snapshot that is complete stays. */
  abandon(): void;
}

/** What the store has, as far as this run knows. */
interface Published {
  readonly name: string;
  readonly contents: Contents;
  readonly heard: number | null;
}

function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  void work.finally(() => {
    clearTimeout(timer);
    resolve();
  });
  return promise;
}

const inParts = <Item>(items: readonly Item[], size: number) =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));

export function createRunSnapshots(options: RunSnapshotsOptions): RunSnapshots {
  const { database, store, run, isHeld, endMs = endWaitMs, onSummary, onFailure } = options;
  const ending = new AbortController();
  let opened: OpenedSnapshot | undefined;
  let blobs: SnapshotBlobs | undefined;
  let published: Published | undefined;
  let isLoaded = false;
  let isCleaned = false;
  /** The store has lost blobs, so the next snapshot must not build on this one. */
  let hasGaps = false;
  let hasRefilled = false;
  let isFailing = false;
  let lastLeftOut = '';
  let pending: Copy | undefined;
  let copying: Promise<void> | undefined;
  let next: number | undefined;
  let storing: Promise<void> | undefined;
  /** The pieces that the copy which is being made may refer to. */
  let knownToCopy: readonly Piece[] = [];

  function failed(error: Error): void {
    if (!isFailing && !ending.signal.aborted) onFailure(error);
    isFailing = true;
  }

  /** What the previous snapshot has need not be stored again. If it cannot be read, everything is. */
  async function loadPublished({ row }: OpenedSnapshot, calls: SnapshotBlobs): Promise<void> {
    if (isLoaded || row.blob === null) return;
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(loadContentsMs)]);
    try {
      const contents = await calls.getContents(row.blob, signal);
      published = { name: row.blob, contents, heard: row.heard };
    } catch {
      // It is replaced by the next one.
    }
    isLoaded = true;
  }

  async function copyOnce(heard: number): Promise<void> {
    if (!isHeld()) return;
    opened ??= await options.open();
    if (opened === undefined) return;
    blobs ??= createSnapshotBlobs(store, opened.row.id, opened.box);
    await loadPublished(opened, blobs);
    knownToCopy = published === undefined || hasGaps ? [] : piecesOf(published.contents);
    const known = new Map(knownToCopy.map((piece) => [piece.digest, piece]));
    const copy = await options.copy(opened, known, heard, ending.signal);
    if (copy === undefined) return;
    const leftOut = JSON.stringify(copy.summary.leftOut);
    if (leftOut !== lastLeftOut) onSummary(copy.summary);
    lastLeftOut = leftOut;
    await pending?.discard();
    pending = copy;
    knownToCopy = [];
    startStoring();
  }

  async function copyAll(): Promise<void> {
    for (let heard = next; heard !== undefined && !ending.signal.aborted; heard = next) {
      next = undefined;
      await copyOnce(heard).catch(failed);
    }
  }

  /** Stores one copy at a time. What arrives at the last moment is stored by the next round. */
  function startStoring(): void {
    storing ??= storeAll().finally(() => {
      storing = undefined;
      if (pending !== undefined) startStoring();
    });
  }

  async function storeAll(): Promise<void> {
    for (let copy = pending; copy !== undefined; copy = pending) {
      pending = undefined;
      try {
        if (!ending.signal.aborted) await storeCopy(copy);
        isFailing = false;
      } catch (error) {
        // It may have left blobs.
        isCleaned = false;
        failed(error as Error);
      } finally {
        await copy.discard();
      }
    }
  }

  async function storeCopy(copy: Copy): Promise<void> {
    if (opened === undefined || blobs === undefined) return;
    const { contents, heard, takenAt } = copy;
    if (!hasGaps && published?.heard === heard && isSameContents(published.contents, contents)) return;
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(storeMsMax)]);
    const name = newBlobName();
    const fresh = [...new Set(piecesOf(contents).map((piece) => piece.name))].filter(copy.isNew);
    await blobs.putAll(fresh, copy.read, signal);
    await blobs.putContents(name, contents, signal);
    const isPublished = await database.run(publishSnapshot, {
      ...run,
      id: opened.row.id,
      blob: name,
      takenAt,
      heard,
    });
    if (!isPublished) return blobs.remove([...fresh, name], signal);
    const before = published;
    published = { name, contents, heard };
    // What is not needed any more is removed last, so that there is always a whole snapshot.
    await removeOthers(before, signal).catch((error: Error) => {
      isCleaned = false;
      if (!ending.signal.aborted) options.onRemovalFailure?.(error);
    });
    if (!hasGaps || hasRefilled) return;
    hasRefilled = true;
    take(heard);
  }

  async function removeOthers(before: Published | undefined, signal: AbortSignal): Promise<void> {
    if (blobs === undefined || published === undefined) return;
    const needed = new Set([published.name, ...piecesOf(published.contents).map(({ name }) => name)]);
    const earlier =
      before === undefined ? [] : [before.name, ...piecesOf(before.contents).map(({ name }) => name)];
    // Once per run: a run that crashed may have left some.
    const others = isCleaned ? earlier : await blobs.list(listedMax, signal);
    const isWhole = isCleaned || others.length >= listedMax || needed.isSubsetOf(new Set(others));
    hasGaps = !isWhole;
    const waiting = pending === undefined ? [] : piecesOf(pending.contents);
    const inUse = new Set([...knownToCopy, ...waiting].map(({ name }) => name));
    const unneeded = [...new Set(others)].filter((name) => !needed.has(name));
    const removable = unneeded.filter((name) => !inUse.has(name));
    for (const part of inParts(removable, removedAtOnce)) await blobs.remove(part, signal);
    isCleaned = isWhole && removable.length === unneeded.length;
  }

  /** Makes one copy at a time. */
  function startCopying(): void {
    copying ??= copyAll().finally(() => {
      copying = undefined;
      if (next !== undefined && !ending.signal.aborted) startCopying();
    });
  }

  function take(heard: number): void {
    next = heard;
    startCopying();
  }

  async function settled(): Promise<void> {
    while (copying !== undefined || storing !== undefined) {
      await copying;
      await storing;
    }
  }

  return {
    take,
    copied: () => within(turnWaitMs, copying ?? Promise.resolve()),
    finish: async (heard) => {
      if (!ending.signal.aborted && isHeld()) {
        take(heard);
        await within(endMs, settled());
      }
      ending.abort();
      await settled();
    },
    abandon: () => ending.abort(),
  };
}

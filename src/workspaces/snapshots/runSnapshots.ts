// The snapshots of one run: decides when the files are copied, and stores the copies one after the other in the
// background. If there are several, only the latest is stored.
import type { BlobStore } from '../../blobs/blobStore.ts';
import type { Run } from '../../conversations/run/records.ts';
import type { Database } from '../../db/transaction.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import { changedTriesMax, endWaitMs, turnWaitMs } from './bounds.ts';
import { type Piece, piecesOf } from './contents.ts';
import { type Copy, NotCopied } from './copy.ts';
import type { Summary } from './inside/sections.ts';
import { createPublisher, type OpenedSnapshot, type Publication, type Publisher } from './publisher.ts';
import { createSettling } from './settling.ts';
import { createSnapshotBlobs } from './storeCalls.ts';
import type { SnapshotTurn } from './turnStore.ts';

/** The session in the home is never resumed from a snapshot without it. */
const heardNothing = -1;

/** What is copied, and why. */
export interface CopyRequest {
  /**
   * `start`: the workspace before the first turn, without the home, which the agent is changing. `edit`: the user has
   * changed files between turns. `turn`: a turn or the run has ended.
   */
  readonly kind: 'start' | 'edit' | 'turn';
  /** The agent had been given what the user said before this event. */
  readonly heard: number;
  readonly at: number;
  /** The last turn, unless one is in progress. */
  readonly turn: SnapshotTurn | null;
  /** The turns that had begun by then: if there are more when the files are copied, they may be those of the next turn. */
  readonly turnsBegun: number;
}

export interface RunSnapshotsOptions {
  readonly database: Database;
  readonly store: BlobStore;
  readonly run: Run;
  /** As in `CopyRequest`. */
  readonly heard: number;
  /** Creates or finds the row. Undefined if the run no longer owns the conversation. */
  readonly open: () => Promise<OpenedSnapshot | undefined>;
  /** Copies the files. Undefined if there are none. */
  readonly copy: (
    opened: OpenedSnapshot,
    known: ReadonlyMap<string, Piece>,
    request: CopyRequest,
    signal: AbortSignal,
  ) => Promise<Copy | undefined>;
  readonly isHeld: () => boolean;
  /** How long the end of the run waits for the store. */
  readonly endMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Called when what is left out has changed. */
  readonly onSummary: (summary: Summary) => void;
  /** Called once, and again only after a success. */
  readonly onFailure: (error: Error) => void;
  readonly onRemovalFailure: (error: Error) => void;
  readonly observe: SnapshotObserver;
}

/** Receives everything that operators may want to know. */
export interface SnapshotObserver {
  published(outcome: Publication, ms: number): void;
  failed(error: Error): void;
  sent(bytes: number): void;
}

export interface RunSnapshots {
  /** Copies the workspace before the first turn. Nothing waits for it. */
  copyNew(): void;
  /** The user has changed files. They are copied when that has settled, or with the next turn. */
  filesChanged(): void;
  /** Settles when a turn may change the files: when the copy after the last one is made, or after a while. */
  beginTurn(): Promise<void>;
  /** Begins to copy the files. `heard`: the agent had been given what the user said before this event. */
  endTurn(heard: number): void;
  /** Copies the files for the last time, and waits until that is stored, within bounds. */
  finish(): Promise<void>;
  /** Ends everything at once; the last snapshot that is complete stays. */
  abandon(): void;
  /** How long the oldest change of files has been waiting for its snapshot. */
  overdueMs(): number;
}

interface PendingCopy {
  readonly request: CopyRequest;
  readonly copy: Copy;
  /** The turn after which the files were copied; null if they may be those of an unfinished turn. */
  readonly turn: SnapshotTurn | null;
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

/** What is left out, whatever its size is now. */
function leftOutKey({ leftOut: { files, count } }: Summary): string {
  return JSON.stringify([count, files.map(({ name, reason }) => [name, reason])]);
}

export function createRunSnapshots(options: RunSnapshotsOptions): RunSnapshots {
  const { database, store, run, isHeld, endMs = endWaitMs, observe, clock = systemClock } = options;
  const ending = new AbortController();
  let { heard } = options;
  let isTurn = false;
  let turnsBegun = 0;
  /** The last turn of this run. */
  let lastTurn: SnapshotTurn | null = null;
  let publisher: Publisher | undefined;
  let opened: OpenedSnapshot | undefined;
  let isFailing = false;
  let hasRefilled = false;
  let lastLeftOut = '';
  /** The copy that is being made, and the request for the one after it. */
  let copying: { readonly request: CopyRequest; readonly giveUp: AbortController } | undefined;
  let next: CopyRequest | undefined;
  let copyingAll: Promise<void> | undefined;
  /** The copy that waits for the store. */
  let pending: PendingCopy | undefined;
  let storing: Promise<void> | undefined;
  /** The pieces that the copy which is being made may refer to. */
  let knownToCopy: readonly Piece[] = [];
  /** The first request that was not fulfilled, and the last one. */
  let dueSince: number | undefined;
  let lastRequest: CopyRequest | undefined;

  function failed(error: Error): void {
    if (ending.signal.aborted) return;
    observe.failed(error);
    if (!isFailing) options.onFailure(error);
    isFailing = true;
  }

  async function openPublisher(): Promise<Publisher | undefined> {
    opened ??= await options.open();
    if (opened === undefined) return undefined;
    const { row, box } = opened;
    publisher ??= createPublisher({
      database,
      run,
      row,
      blobs: createSnapshotBlobs(store, row.id, box),
      ending: ending.signal,
      inUse: () => [...knownToCopy, ...(pending === undefined ? [] : piecesOf(pending.copy.contents))],
      onBytes: observe.sent,
      onRemovalFailure: options.onRemovalFailure,
    });
    return publisher;
  }

  /** Programs that still run may change the repository at any time. */
  async function copyUnchanged(request: CopyRequest, signal: AbortSignal): Promise<Copy | undefined> {
    const known = new Map(knownToCopy.map((piece) => [piece.digest, piece]));
    for (let tries = 1; opened !== undefined; tries++) {
      try {
        return await options.copy(opened, known, request, signal);
      } catch (error) {
        const isChanged = error instanceof NotCopied && error.reason === 'changed';
        if (!isChanged || request.kind === 'start' || tries >= changedTriesMax) throw error;
      }
    }
    return undefined;
  }

  async function copyOnce(request: CopyRequest, signal: AbortSignal): Promise<void> {
    if (!isHeld()) return;
    const own = await openPublisher();
    if (own === undefined) return;
    knownToCopy = await own.loadKnown();
    const copy = await copyUnchanged(request, signal);
    if (copy === undefined) return;
    const leftOut = leftOutKey(copy.summary);
    if (leftOut !== lastLeftOut) options.onSummary(copy.summary);
    lastLeftOut = leftOut;
    await pending?.copy.discard();
    pending = { request, copy, turn: request.turnsBegun === turnsBegun ? request.turn : null };
    knownToCopy = [];
    startStoring();
  }

  /** A copy that the next turn replaces anyway may fail. */
  function dropped(request: CopyRequest): void {
    if (dueSince === request.at) dueSince = undefined;
  }

  async function copyAll(): Promise<void> {
    for (let request = next; request !== undefined && !ending.signal.aborted; request = next) {
      next = undefined;
      const giveUp = new AbortController();
      copying = { request, giveUp };
      const begun = clock.steady();
      await copyOnce(request, AbortSignal.any([ending.signal, giveUp.signal])).catch((error: Error) => {
        const isChanged = error instanceof NotCopied && error.reason === 'changed';
        if (giveUp.signal.aborted || (isChanged && request.kind === 'start')) dropped(request);
        else failed(error);
      });
      copying = undefined;
      settling.worked(clock.steady() - begun);
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
    for (let waiting = pending; waiting !== undefined; waiting = pending) {
      pending = undefined;
      const { copy } = waiting;
      try {
        if (!ending.signal.aborted) await storeCopy(waiting);
      } catch (error) {
        failed(error as Error);
      } finally {
        await copy.discard();
      }
    }
  }

  async function storeCopy({ copy, request, turn }: PendingCopy): Promise<void> {
    if (publisher === undefined) return;
    const outcome = await publisher.publish(copy, request.heard, turn);
    isFailing = false;
    observe.published(outcome, clock.steady() - request.at);
    // If others were requested meanwhile, the first of them is at most as old as this copy.
    dueSince = lastRequest === request ? undefined : lastRequest?.at;
    if (!publisher.hasGaps() || hasRefilled) return;
    hasRefilled = true;
    if (!isTurn) take('edit');
  }

  function take(kind: CopyRequest['kind']): void {
    // A copy that is due anyway has the changes of the user, too.
    if (ending.signal.aborted || (kind === 'edit' && next?.kind === 'turn')) return;
    const isStart = kind === 'start';
    const turn = isStart || isTurn ? null : lastTurn;
    const request = { kind, heard: isStart ? heardNothing : heard, at: clock.steady(), turn, turnsBegun };
    dueSince ??= request.at;
    lastRequest = request;
    next = request;
    startCopying();
  }

  /** Makes one copy at a time. */
  function startCopying(): void {
    copyingAll ??= copyAll().finally(() => {
      copyingAll = undefined;
      if (next !== undefined && !ending.signal.aborted) startCopying();
    });
  }

  const settling = createSettling(clock, () => take('edit'));

  /** The copy after the last turn is worth a moment; the other ones are not. */
  async function beginTurn(): Promise<void> {
    isTurn = true;
    settling.cancel();
    if (next?.kind === 'edit') {
      dropped(next);
      next = undefined;
    }
    if (copying?.request.kind === 'edit') copying.giveUp.abort();
    const isWorthIt = copying?.request.kind === 'turn' || next?.kind === 'turn';
    if (isWorthIt && copyingAll !== undefined) await within(turnWaitMs, copyingAll);
    turnsBegun += 1;
  }

  async function settled(): Promise<void> {
    while (copyingAll !== undefined || storing !== undefined) {
      await copyingAll;
      await storing;
    }
  }

  return {
    copyNew: () => take('start'),
    filesChanged: () => {
      if (!isTurn && !ending.signal.aborted) settling.changed();
    },
    beginTurn,
    endTurn: (known) => {
      isTurn = false;
      lastTurn = { from: heard, heard: known };
      heard = known;
      take('turn');
    },
    finish: async () => {
      settling.cancel();
      if (!ending.signal.aborted && isHeld()) {
        take('turn');
        await within(endMs, settled());
      }
      ending.abort();
      await settled();
    },
    abandon: () => {
      settling.cancel();
      ending.abort();
    },
    overdueMs: () => (dueSince === undefined ? 0 : clock.steady() - dueSince),
  };
}

// Reads files of conversations whose machine is gone: from a copy of their snapshot, in which nothing runs.
import type { ConversationName } from '../conversations/id.ts';
import { AppError } from '../errors.ts';
import { createGate, type GateBounds, gaveUp } from '../process/gate.ts';
import type { FreeMin } from '../sandbox/diskWatch.ts';
import type { PreparedSnapshot } from '../workspaces/read/service.ts';
import type { Snapshots, StoredSnapshot } from '../workspaces/snapshots/service.ts';
import {
  type CopyRestorerOptions,
  createCopyRestorer,
  type ReadConversation,
  retryAfterS,
} from './restoreCopy.ts';
import { createRestoredCopies, type RestoredCopy } from './restoredCopies.ts';

/** How long a request waits; the copy goes on meanwhile. */
const requestWaitMs = 60_000;
/** Requests that wait for a copy. None waits for another, and they take none of the slots for reading. */
const waitGate: GateBounds = { atOnceMax: 128, userAtOnceMax: 32, waitingMax: 0, userWaitingMax: 0 };
const busy = 'Too many requests wait for files from snapshots; try again.';

interface ReaderOptions extends CopyRestorerOptions {
  readonly snapshots: Pick<Snapshots, 'find'>;
  readonly dataDir: string;
  readonly freeMin: FreeMin;
  readonly onBackgroundError: (error: Error) => void;
}

const notReady = () =>
  new AppError(
    'node_unreachable',
    'The machine that had the files of this conversation is gone. They are being restored from a snapshot; try again soon.',
    { retryAfterS },
  );

/** Throws if the copy fails, takes too long, or nobody waits any more. */
async function waitFor({ ready }: RestoredCopy, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<never>();
  const giveUp = () => over.reject(gaveUp());
  const timer = setTimeout(() => over.reject(notReady()), requestWaitMs);
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    await Promise.race([ready, over.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

export function createSnapshotReader(options: ReaderOptions) {
  const { snapshots } = options;
  const restorer = createCopyRestorer(options);
  const copies = createRestoredCopies(options);
  const waits = createGate(waitGate, busy);

  async function findCopy(
    snapshot: StoredSnapshot,
    name: ConversationName,
    conversation: ReadConversation,
  ): Promise<RestoredCopy> {
    const found = copies.find(snapshot.id);
    if (found !== undefined) return found;
    const access = await restorer.findAccess(name, conversation);
    // Another request may have added it meanwhile.
    return (
      copies.find(snapshot.id) ??
      copies.add(snapshot.id, name.userId, (folder, signal) =>
        restorer.restore(folder, name, snapshot, access, signal),
      )
    );
  }

  /** Waits until the files are here; undefined if the conversation has no snapshot. They are kept until `leave`. */
  async function prepare(
    name: ConversationName,
    conversation: ReadConversation,
    readable: readonly string[],
    signal: AbortSignal,
  ): Promise<PreparedSnapshot | undefined> {
    const snapshot = await snapshots.find(conversation.key);
    if (snapshot === undefined) return undefined;
    const stopWaiting = await waits.enter(name.userId, signal);
    let leave = () => {};
    try {
      const copy = await findCopy(snapshot, name, conversation);
      copy.readers += 1;
      leave = () => {
        copy.readers -= 1;
        copy.usedAt = performance.now();
        leave = () => {};
      };
      await waitFor(copy, signal);
      return { open: () => restorer.open(copy.folder, readable), leave: () => leave() };
    } catch (error) {
      leave();
      throw error;
    } finally {
      stopWaiting();
    }
  }

  return { prepare, close: copies.close };
}

// Adds what is said in conversations to the search index, in the background, so that appending costs no more.
// Notifications say which conversations have changed; a sweep over all conversations finds what they missed, such as
// everything from before a crash or an upgrade. Positions are stored with the words, so that nothing is lost or repeated.
import { conversationOf } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { readEvents, type StoredEvent } from '../../events/store.ts';
import { type Clock, systemClock } from '../../process/clock.ts';
import { repeat } from '../../process/repeat.ts';
import { claimIndex, releaseIndex } from './claimStore.ts';
import {
  type Document,
  findBehind,
  findIndexState,
  forgetGone,
  type IndexState,
  indexPiece,
  titleId,
} from './indexStore.ts';
import { indexedWords, searchableText } from './text.ts';

const everyMs = 1_000;
/** How many parts of logs are indexed in a pass, and how large they are. */
const piecesMax = 50;
const pieceEventsMax = 100;
const pieceBytesMax = 128 * 1_024;
/** How many conversations a pass examines. */
const scannedMax = 2_000;
/** How long to wait after a sweep over all conversations. */
const sweepEveryMs = 60_000;
/** How many conversations may be known to have changed. The sweep finds the others. */
const queueMax = 10_000;
/** On PostgreSQL, one process indexes at a time. Another one takes over when its lease ends. */
const leaseMs = 30_000;
const renewMs = 10_000;

interface IndexerOptions {
  readonly database: Database;
  /** The id of this process. */
  readonly owner: string;
  readonly onBackgroundError: (error: Error) => void;
  readonly clock?: Pick<Clock, 'every' | 'steady'>;
}

export type Indexer = ReturnType<typeof createIndexer>;

function documentsOf(events: readonly StoredEvent[]): Document[] {
  return events.flatMap(({ id, json }) => {
    const words = indexedWords(searchableText(json)?.text ?? '');
    return words.length === 0 ? [] : [{ id, words }];
  });
}

export function createIndexer({ database, owner, onBackgroundError, clock = systemClock }: IndexerOptions) {
  /** Conversations that may have something new, in the order in which it is their turn. */
  const queue = new Set<number>();
  let sweepBelow: number | null = null;
  let sweepFrom = clock.steady();
  let isOurs = false;
  let claimFrom = clock.steady();
  let isClosing = false;

  function add(key: number): void {
    if (queue.size < queueMax) queue.add(key);
  }

  database.onNotification((topics) => {
    for (const topic of topics) {
      const key = conversationOf(topic);
      if (key !== undefined) add(key);
    }
  });

  /** SQLite has a single process that serves it. */
  async function mayIndex(): Promise<boolean> {
    if (database.kind === 'sqlite') return true;
    if (clock.steady() < claimFrom) return isOurs;
    claimFrom = clock.steady() + renewMs;
    const hadIt = isOurs;
    isOurs = await database.run(claimIndex, { owner, leaseMs });
    // What the process before has not finished is unknown.
    if (isOurs && !hadIt) [sweepBelow, sweepFrom] = [null, clock.steady()];
    return isOurs;
  }

  async function sweep(): Promise<void> {
    if (clock.steady() < sweepFrom || queue.size >= queueMax / 2) return;
    const { keys, gone, next } = await database.run(findBehind, { below: sweepBelow, scannedMax });
    for (const key of keys) add(key);
    for (const key of gone) await database.run(forgetGone, key);
    sweepBelow = next;
    if (next === null) sweepFrom = clock.steady() + sweepEveryMs;
  }

  async function readPiece({ key, indexed, next_event: below }: IndexState): Promise<StoredEvent[]> {
    if (indexed >= below) return [];
    return database.run(readEvents, {
      conversation: key,
      from: indexed,
      below,
      newestFirst: false,
      max: pieceEventsMax,
      bytesMax: pieceBytesMax,
    });
  }

  /** Indexes a part of a log. Returns whether there may be more. */
  async function indexOnce(key: number): Promise<boolean> {
    const state = await database.run(findIndexState, key);
    if (state === undefined) return false;
    const { indexed, next_event: end, title, indexed_title: indexedTitle } = state;
    if (indexed >= end && title === indexedTitle) return false;
    const events = await readPiece(state);
    const documents = documentsOf(events);
    if (title !== indexedTitle) documents.push({ id: titleId, words: indexedWords(title) });
    const last = events.at(-1);
    const to = last === undefined ? end : last.id + 1;
    await database.run(indexPiece, { key, from: indexed, to, title, documents });
    return to < end;
  }

  async function indexQueue(): Promise<void> {
    let failure: Error | undefined;
    for (let piece = 0; piece < piecesMax && !isClosing; piece++) {
      const [key] = queue;
      if (key === undefined) break;
      queue.delete(key);
      try {
        // A long log waits for its next turn, so that others are searchable soon, too.
        if (await indexOnce(key)) add(key);
      } catch (error) {
        // The sweep finds it again. Others must not wait for it.
        failure ??= error as Error;
      }
    }
    if (failure !== undefined) throw failure;
  }

  async function pass(): Promise<void> {
    if (isClosing) return;
    if (!(await mayIndex())) {
      queue.clear();
      return;
    }
    await sweep();
    await indexQueue();
  }

  const passes = repeat(pass, everyMs, onBackgroundError, clock);

  return {
    /** Runs a pass now. */
    pass: passes.run,
    close: async (): Promise<void> => {
      isClosing = true;
      await passes.stop();
      if (isOurs) await database.run(releaseIndex, { owner }).catch(onBackgroundError);
    },
  };
}

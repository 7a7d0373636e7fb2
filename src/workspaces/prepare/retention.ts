// Removes the folders of conversations that are deleted, or have been stopped for long. Every process looks after the
// folders of its own machine.

import { releaseRun } from '../../conversations/run/store.ts';
import { conversationTopic, workTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { eventText } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { repeat } from '../../process/repeat.ts';
import type { Folders } from './folders.ts';
import { findRemovable, finishRemoval, holdForRemoval, removedObservation } from './store.ts';

/** Asked of the database at once. */
const keysMax = 500;
/** Removed in one look; the rest has its turn at the next. */
const removedMax = 100;
const leaseMs = 60_000;
/** Without the folder out of the way by then, it stays. */
const giveUpMs = leaseMs / 2;
const dayMs = 24 * 60 * 60_000;

interface RetentionOptions {
  readonly database: Database;
  readonly folders: Folders;
  /** Days for which the workspace of a stopped conversation is kept; 0: for ever. */
  readonly days: number;
  /** Between two looks. */
  readonly everyMs: number;
  /** Names this process in the rows that it holds. */
  readonly owner: string;
  readonly nextId: () => string;
  readonly onBackgroundError: (error: Error) => void;
  readonly now?: () => number;
}

function workspaceRemoved(days: number): NewEvent {
  const after = days === 0 ? 'long' : days === 1 ? 'a day' : `${days} days`;
  const message = `The workspace was removed, because the conversation had been stopped for ${after}. Changes that were not pushed are lost; the next start creates a new one.`;
  return { source: 'environment', message, observation: removedObservation, content: message, extras: {} };
}

export function createRetention(options: RetentionOptions) {
  const { database, folders, days, everyMs, owner, nextId, onBackgroundError, now = Date.now } = options;
  const stoppedMs = days === 0 ? null : days * dayMs;

  /** Without a run: of a process that died before it came to this. */
  async function finish(key: number, runId: string | null): Promise<void> {
    const event = eventText(workspaceRemoved(days), new Date(now()).toISOString());
    await database.run(finishRemoval, { key, runId, event });
    // Whether it was noted or not: it is free, and a worker may wait for it.
    database.notify([conversationTopic(key), workTopic]);
    await folders.removeSetAside(key);
  }

  /** Holds the conversation only while its folders are moved out of the way. */
  async function removeStopped(key: number, forMs: number): Promise<void> {
    const runId = nextId();
    const since = performance.now();
    const held = await database.run(holdForRemoval, { key, runId, owner, leaseMs, stoppedMs: forMs });
    if (!held) return;
    let moved = false;
    try {
      moved = performance.now() - since < giveUpMs && (await folders.setAside(key));
    } finally {
      if (moved) await finish(key, runId);
      else await database.run(releaseRun, { key, runId, at: new Date(now()).toISOString() });
    }
  }

  async function removeDeleted(key: number): Promise<void> {
    await folders.setAside(key);
    await folders.removeSetAside(key);
  }

  /** One that fails is told, and keeps none of the others. */
  async function each(keys: readonly number[], work: (key: number) => Promise<void>): Promise<void> {
    for (const key of keys) await work(key).catch(onBackgroundError);
  }

  /** What a process that died had moved out of the way. Where there are new folders by now, nothing is missing. */
  async function finishOthers(present: ReadonlySet<number>): Promise<void> {
    await each(await folders.listSetAside(), (key) =>
      present.has(key) ? folders.removeSetAside(key) : finish(key, null),
    );
  }

  async function removeUnused(): Promise<void> {
    const keys = await folders.list();
    await finishOthers(new Set(keys));
    let left = removedMax;
    for (let at = 0; at < keys.length && left > 0; at += keysMax) {
      const some = keys.slice(at, at + keysMax);
      const { deleted, stopped } = await database.run(findRemovable, { keys: some, stoppedMs });
      await each(deleted.slice(0, left), removeDeleted);
      left -= Math.min(deleted.length, left);
      if (stoppedMs !== null) await each(stopped.slice(0, left), (key) => removeStopped(key, stoppedMs));
      left -= Math.min(stopped.length, left);
    }
  }

  const { run, stop } = repeat(removeUnused, everyMs, onBackgroundError);
  return { removeUnused: run, close: stop };
}

// Removes the folders of conversations that were deleted, or stopped long ago. Every process handles the folders of its
// own machine.

import { releaseRun } from '../../conversations/run/store.ts';
import { conversationTopic, workTopic } from '../../db/topics.ts';
import type { Database } from '../../db/transaction.ts';
import { eventText } from '../../events/shapes.ts';
import type { NewEvent } from '../../events/vocabulary/vocabulary.ts';
import { repeat } from '../../process/repeat.ts';
import type { Folders } from './folders.ts';
import { findRemovable, finishRemoval, holdForRemoval, removedObservation } from './store.ts';

/** Keys per query. */
const keysMax = 500;
/** Folders per pass; the rest follows in the next. */
const removedMax = 100;
const leaseMs = 60_000;
/** If the folder could not be renamed by then, it stays. */
const giveUpMs = leaseMs / 2;
const dayMs = 24 * 60 * 60_000;

/** The folders of conversations, or what else holds their files. */
export interface KeptWorkspaces
  extends Pick<Folders, 'list' | 'isLocal' | 'setAside' | 'listSetAside' | 'removeSetAside'> {
  /** A removal that has failed may still happen, so that nobody may use the workspace for the rest of the lease. */
  readonly mayRemoveLate?: true;
}

interface RetentionOptions {
  readonly database: Database;
  readonly folders: KeptWorkspaces;
  /** How many days the workspace of a stopped conversation is kept; 0 means for ever. */
  readonly days: number;
  /** The time between two passes. */
  readonly everyMs: number;
  /** Identifies this process in the rows that it locks. */
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

  /** `runId` is null for a removal that a dead process has started. */
  async function finish(key: number, runId: string | null): Promise<void> {
    const event = eventText(workspaceRemoved(days), new Date(now()).toISOString());
    await database.run(finishRemoval, { key, runId, event });
    // It is released in any case, and a worker may wait for it.
    database.notify([conversationTopic(key), workTopic]);
    await folders.removeSetAside(key);
  }

  /** Locks the conversation only while its folders are renamed. */
  async function removeStopped(key: number, forMs: number): Promise<void> {
    // Nothing in a local folder is ours; only the home of the agent is here, and stays with the conversation.
    if (await folders.isLocal(key)) return;
    const runId = nextId();
    const since = performance.now();
    const held = await database.run(holdForRemoval, { key, runId, owner, leaseMs, stoppedMs: forMs });
    if (!held) return;
    const release = () => database.run(releaseRun, { key, runId, at: new Date(now()).toISOString() });
    let moved = false;
    try {
      moved = performance.now() - since < giveUpMs && (await folders.setAside(key));
    } catch (error) {
      if (folders.mayRemoveLate !== true) await release();
      throw error;
    }
    await (moved ? finish(key, runId) : release());
  }

  async function removeDeleted(key: number): Promise<void> {
    await folders.setAside(key);
    await folders.removeSetAside(key);
  }

  /** A failure is reported and does not affect the others. */
  async function each(keys: readonly number[], work: (key: number) => Promise<void>): Promise<void> {
    for (const key of keys) await work(key).catch(onBackgroundError);
  }

  /** Finishes what a dead process has renamed. If there are new folders, the workspace is not missing. */
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

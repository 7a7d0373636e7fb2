// The loop that takes conversations while it has slots, and tells their runs what happens to them.

import { type ClaimedConversation, claimConversation } from '../conversations/run/claimStore.ts';
import { type RunState, readRunStates } from '../conversations/run/store.ts';
import { conversationOf, workTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import { wakeable } from '../process/repeat.ts';
import type { RunAgent } from './claimedRun.ts';
import type { LeaseTimes } from './lease.ts';
import { type LiveRun, startRun } from './liveRun.ts';

export interface WorkerTimes extends LeaseTimes {
  readonly pollMs: number;
}

const defaultTimes: WorkerTimes = { leaseMs: 8_000, renewMs: 2_000, giveUpMs: 6_000, pollMs: 1_000 };

export interface WorkerOptions {
  readonly database: Database;
  readonly runAgent: RunAgent;
  /** Names this process in the rows of its runs. */
  readonly owner: string;
  readonly nextId: () => string;
  /** Runs of this process at the same time. */
  readonly slots: number;
  readonly userRunsMax: number;
  /** Nothing is taken before this has settled. */
  readonly ready?: Promise<unknown>;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: Partial<WorkerTimes>;
  readonly clock?: Clock;
}

export type Worker = ReturnType<typeof createWorker>;

export function createWorker(options: WorkerOptions) {
  const { database, runAgent, owner, nextId, slots, userRunsMax, ready, onBackgroundError } = options;
  const { clock = systemClock } = options;
  const times = { ...defaultTimes, ...options.times };
  /** By run id: one that was lost may still be ending when its conversation comes back. */
  const runs = new Map<string, LiveRun>();
  let closed = false;

  const keysOf = () => [...runs.values()].map(({ key }) => key);

  function updateRun(runId: string, run: LiveRun, claimAll: RunState | undefined): void {
    const inbox = run.inbox();
    if (claimAll?.run_id !== runId) run.end('lost');
    else if (claimAll.wanted !== null) run.end('stop');
    else if (inbox !== undefined && claimAll.next_event > inbox.cursor())
      inbox.readNew(claimAll.next_event).catch(onBackgroundError);
  }

  /** One look for all runs: who is to end, who has something to read. */
  async function checkRuns(): Promise<void> {
    if (runs.size === 0) return;
    // One that begins after the look is not in it, or as another run of the same conversation.
    const asked = [...runs];
    const looks = await database.run(readRunStates, keysOf());
    const seen = new Map(looks.map((look) => [look.key, look]));
    for (const [runId, run] of asked) updateRun(runId, run, seen.get(run.key));
  }
  const checking = wakeable(checkRuns, onBackgroundError);

  function begin(conversation: ClaimedConversation, runId: string, since: number): void {
    const { key } = conversation;
    const before = [...runs.values()].filter((run) => run.key === key).map((run) => run.done);
    const run = startRun({
      database,
      runAgent,
      conversation,
      runId,
      since,
      times,
      clock,
      after: Promise.all(before),
      onListen: checking.wake,
      onBackgroundError,
    });
    runs.set(runId, run);
    void run.done.then(() => {
      runs.delete(runId);
      claiming.wake();
    });
  }

  async function look(): Promise<void> {
    await ready;
    while (runs.size < slots && !closed) {
      const runId = nextId();
      const since = clock.steady();
      const claim = { runId, owner, leaseMs: times.leaseMs, userRunsMax };
      const claimed = await database.run(claimConversation, claim);
      if (claimed === undefined) return;
      begin(claimed, runId, since);
    }
  }
  const claiming = wakeable(look, onBackgroundError);

  database.onNotification((topics) => {
    if (topics.includes(workTopic)) claiming.wake();
    const keys = new Set(keysOf());
    if (topics.some((topic) => keys.has(conversationOf(topic) ?? -1))) checking.wake();
  });
  database.onForeignChange(checking.wake);
  // Whatever was rung for and not heard.
  const poll = clock.every(times.pollMs, () => {
    claiming.wake();
    checking.wake();
  });
  claiming.wake();

  return {
    /** Runs that it has now. */
    size: () => runs.size,
    isFull: () => runs.size >= slots,
    /** Ends every run and leaves the conversations to others. */
    close: async () => {
      closed = true;
      poll.stop();
      await claiming.ended();
      for (const run of runs.values()) run.end('shutdown');
      await Promise.all([...runs.values()].map(({ done }) => done));
      await checking.ended();
    },
  };
}

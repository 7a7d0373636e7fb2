// The loop that claims conversations while it has free slots, and forwards changes to their runs.

import { type ClaimedConversation, claimConversation } from '../conversations/run/claimStore.ts';
import { type RunState, readRunStates } from '../conversations/run/store.ts';
import { conversationOf, workTopic } from '../db/topics.ts';
import type { Database } from '../db/transaction.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { type Clock, systemClock } from '../process/clock.ts';
import { wakeable } from '../process/repeat.ts';
import type { Tracing } from '../tracing/tracing.ts';
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
  /** Identifies this process in the rows of its runs. */
  readonly owner: string;
  /** The machine of this process; absent if it is the only one. */
  readonly nodeId?: string | undefined;
  readonly nextId: () => string;
  /** Concurrent runs of this process. */
  readonly slots: number;
  readonly userRunsMax: number;
  /** Nothing is claimed before this settles. */
  readonly ready?: Promise<unknown>;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: Partial<WorkerTimes>;
  readonly clock?: Clock;
  readonly metrics?: Metrics | undefined;
  readonly tracing?: Tracing | undefined;
}

export type Worker = ReturnType<typeof createWorker>;

export function createWorker(options: WorkerOptions) {
  const { database, runAgent, owner, nodeId, nextId, slots, userRunsMax, ready, onBackgroundError } = options;
  const { clock = systemClock, metrics } = options;
  const times = { ...defaultTimes, ...options.times };
  /** By run id, because a lost run may still be ending when its conversation is claimed again. */
  const runs = new Map<string, LiveRun>();
  let closed = false;
  let usersAfter = 0;

  const keysOf = () => [...runs.values()].map(({ key }) => key);

  function updateRun(runId: string, run: LiveRun, state: RunState | undefined): void {
    const inbox = run.inbox();
    if (state?.run_id !== runId) run.end('lost');
    else if (state.wanted !== null) run.end('stop');
    else if (inbox !== undefined && state.next_event > inbox.cursor())
      inbox.readNew(state.next_event).catch(onBackgroundError);
  }

  /** One query for all runs: which must end, and which have new events. */
  async function checkRuns(): Promise<void> {
    if (runs.size === 0) return;
    // A run that begins after the query is not in the result, or with another run id.
    const checked = [...runs];
    const states = await database.run(readRunStates, keysOf());
    const seen = new Map(states.map((state) => [state.key, state]));
    for (const [runId, run] of checked) updateRun(runId, run, seen.get(run.key));
  }
  const checking = wakeable(checkRuns, onBackgroundError);

  function traceClaim(
    { traceparent, waited_ms }: ClaimedConversation,
    kind: string,
    startedAt: number,
  ): void {
    const attributes = { 'parley.claim.kind': kind, 'parley.claim.waited_ms': Math.max(0, waited_ms) };
    options.tracing?.start('claim conversation', { parent: traceparent, attributes, startedAt }).end();
  }

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
      onRunning: (startingMs) => metrics?.starts.observe([], startingMs / 1_000),
      onBackgroundError,
    });
    runs.set(runId, run);
    const kind = conversation.status === 'RUNNING' ? 'takeover' : 'start';
    metrics?.claims.add([kind]);
    traceClaim(conversation, kind, since);
    void run.done.then(() => {
      metrics?.runEnds.add([run.cause() ?? 'run']);
      runs.delete(runId);
      claiming.wake();
    });
  }

  async function claimAll(): Promise<void> {
    await ready;
    while (runs.size < slots && !closed) {
      const runId = nextId();
      const since = clock.steady();
      const claim = { runId, owner, nodeId, leaseMs: times.leaseMs, userRunsMax, usersAfter };
      const claimed = await database.run(claimConversation, claim);
      usersAfter = claimed?.usersAfter ?? 0;
      if (claimed === undefined) return;
      begin(claimed, runId, since);
    }
  }
  const claiming = wakeable(claimAll, onBackgroundError);

  database.onNotification((topics) => {
    if (topics.includes(workTopic)) claiming.wake();
    const keys = new Set(keysOf());
    if (topics.some((topic) => keys.has(conversationOf(topic) ?? -1))) checking.wake();
  });
  database.onForeignChange(checking.wake);
  // For notifications that were lost.
  const poll = clock.every(times.pollMs, () => {
    claiming.wake();
    checking.wake();
  });
  claiming.wake();

  return {
    /** The number of current runs. */
    size: () => runs.size,
    isFull: () => runs.size >= slots,
    /** Claims nothing more; the runs go on. */
    stopClaiming: () => {
      closed = true;
    },
    /** Ends every run and leaves the conversations to other workers. */
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

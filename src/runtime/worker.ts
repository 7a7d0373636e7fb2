// The loop that takes conversations while it has slots, keeps each as long as its run lasts, and tells the runs what
// happens to their conversations.
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../db/transaction.ts';
import { AppError } from '../errors.ts';
import { eventText } from '../events/shapes.ts';
import type { EventText } from '../events/store.ts';
import { type StopReason, stopReason } from '../lifecycle/states.ts';
import { wakeable } from '../repeat.ts';
import { conversationOf, conversationTopic, userTopic } from '../topics.ts';
import { createInbox, type Inbox, type UserEvent } from './inbox.ts';
import { type EndCause, keepLease, type LeaseTimes } from './lease.ts';
import { endEvents } from './runEnd.ts';
import {
  type ClaimedConversation,
  claimConversation,
  lookAtRuns,
  type RunProgress,
  recordRun,
  releaseRun,
} from './store.ts';

export interface RunStep {
  readonly events?: readonly EventText[];
  readonly to?: 'RUNNING' | 'STOPPED';
  readonly reason?: StopReason;
  readonly runtimeStatus?: string;
  readonly progress?: RunProgress;
  /** The place in `events` of a question that waits for the user's answer. */
  readonly asks?: number;
}

/** What a run has to work with. */
export interface RunContext {
  readonly runId: string;
  readonly conversation: ClaimedConversation;
  /** Aborted with an `EndCause`: whatever the run started must die now. */
  readonly signal: AbortSignal;
  /**
   * Records a step, once: where the database does not answer it tries again until the run must end. Steps must not
   * overlap. Returns the id of its first event; undefined: the run no longer counts, and its signal is or will be
   * aborted.
   */
  record(step: RunStep): Promise<number | undefined>;
  /** From now on, each event of the user that the agent was not given yet, in order. */
  listen(onEvent: (event: UserEvent) => void): Promise<void>;
}

/** Runs an agent to its end. Settles only when nothing that it started is alive. */
export type RunAgent = (context: RunContext) => Promise<void>;

export interface WorkerTimes extends LeaseTimes {
  readonly pollMs: number;
}

const usualTimes: WorkerTimes = { leaseMs: 8_000, renewMs: 2_000, giveUpMs: 6_000, pollMs: 1_000 };
const recordAgainMs = 200;

export interface WorkerOptions {
  readonly database: Database;
  readonly runAgent: RunAgent;
  /** Names this process in the rows of its runs. */
  readonly owner: string;
  readonly nextId: () => string;
  /** Runs of this process at the same time. */
  readonly slots: number;
  readonly userRunsMax: number;
  readonly onBackgroundError: (error: Error) => void;
  readonly times?: Partial<WorkerTimes>;
}

/** A run of this process. */
interface Live {
  readonly key: number;
  readonly end: (cause: EndCause) => void;
  inbox: Inbox | undefined;
  readonly done: Promise<void>;
}

function isOfDatabase(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'database_unavailable' || error.code === 'overloaded');
}

export type Worker = ReturnType<typeof createWorker>;

export function createWorker(options: WorkerOptions) {
  const { database, runAgent, owner, nextId, slots, userRunsMax, onBackgroundError } = options;
  const times = { ...usualTimes, ...options.times };
  /** By run id: one that was lost may still be ending when its conversation comes back. */
  const runs = new Map<string, Live>();
  let closed = false;

  /** One look for all runs: who is to end, who has something to read. */
  async function watch(): Promise<void> {
    if (runs.size === 0) return;
    const asked = new Set(runs.keys());
    const looks = await database.run(
      lookAtRuns,
      [...runs.values()].map(({ key }) => key),
    );
    const seen = new Map(looks.map((look) => [look.key, look]));
    for (const [runId, run] of runs) {
      // One that began after the look is not in it, or as another run of the same conversation.
      if (!asked.has(runId)) continue;
      const look = seen.get(run.key);
      if (look?.run_id !== runId) run.end('lost');
      else if (look.wanted !== null) run.end('stop');
      else if (run.inbox !== undefined && look.next_event > run.inbox.cursor())
        run.inbox.look(look.next_event).catch(onBackgroundError);
    }
  }
  const watching = wakeable(watch, onBackgroundError);

  async function drive(claimed: ClaimedConversation, runId: string, since: number, signal: AbortSignal) {
    const { key, user_id: userId } = claimed;
    const run = { key, runId };
    const live = () => runs.get(runId);
    let step = 0;

    async function send(record: Parameters<typeof recordRun.steps>[1]): Promise<number | undefined> {
      while (!signal.aborted) {
        try {
          return await database.run(recordRun, record);
        } catch (error) {
          onBackgroundError(error as Error);
          await pause(recordAgainMs, undefined, { signal }).catch(() => {});
        }
      }
      return undefined;
    }

    async function record({ events = [], ...more }: RunStep): Promise<number | undefined> {
      const at = new Date().toISOString();
      const first = await send({ ...run, ...more, events, step: ++step, at });
      if (first === undefined) return undefined;
      live()?.inbox?.passOver(first, events.length);
      database.ring([conversationTopic(key), userTopic(userId)]);
      return first;
    }

    async function listen(onEvent: (event: UserEvent) => void): Promise<void> {
      const inbox = createInbox({ database, key, from: claimed.heard, onEvent });
      const self = live();
      if (self !== undefined) self.inbox = inbox;
      await inbox.look(claimed.next_event);
      watching.wake();
    }

    const end = (cause: EndCause) => live()?.end(cause);
    const stopKeeping = keepLease({ database, run, times, since, onEnd: end, onBackgroundError });
    try {
      await runAgent({ runId, conversation: claimed, signal, record, listen });
    } catch (error) {
      onBackgroundError(error as Error);
      // Without a database for a moment, it is begun anew.
      if (isOfDatabase(error)) return;
      const reason = stopReason('agent_error');
      const at = new Date().toISOString();
      const events = endEvents(reason).map((event) => eventText(event, at));
      await record({ to: 'STOPPED', reason, events });
    } finally {
      stopKeeping();
      await database.run(releaseRun, run).catch(onBackgroundError);
    }
  }

  function begin(claimed: ClaimedConversation, runId: string, since: number): void {
    const controller = new AbortController();
    const end = (cause: EndCause) => controller.abort(cause);
    const { key } = claimed;
    // Where this process had it before and lost it: only after that run is dead.
    const before = [...runs.values()].filter((run) => run.key === key).map((run) => run.done);
    const done = Promise.allSettled(before)
      .then(() => drive(claimed, runId, since, controller.signal))
      .finally(() => {
        runs.delete(runId);
        looking.wake();
      });
    runs.set(runId, { key, end, inbox: undefined, done });
  }

  async function look(): Promise<void> {
    while (runs.size < slots && !closed) {
      const runId = nextId();
      const since = performance.now();
      const claim = { runId, owner, leaseMs: times.leaseMs, userRunsMax };
      const claimed = await database.run(claimConversation, claim);
      if (claimed === undefined) return;
      begin(claimed, runId, since);
    }
  }
  const looking = wakeable(look, onBackgroundError);

  database.onRing((topics) => {
    looking.wake();
    const keys = new Set([...runs.values()].map((run) => run.key));
    if (topics.some((topic) => keys.has(conversationOf(topic) ?? -1))) watching.wake();
  });
  database.onForeignChange(watching.wake);
  const poll = setInterval(looking.wake, times.pollMs);
  poll.unref();
  looking.wake();

  return {
    /** Runs that it has now. */
    size: () => runs.size,
    isFull: () => runs.size >= slots,
    /** Ends every run and leaves the conversations to others. */
    close: async () => {
      closed = true;
      clearInterval(poll);
      await looking.ended();
      for (const { end } of runs.values()) end('shutdown');
      await Promise.allSettled([...runs.values()].map(({ done }) => done));
      await watching.ended();
    },
  };
}

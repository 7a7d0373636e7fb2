// The loop that takes conversations and keeps them: claims while it has slots, renews each lease, and ends a run whose
// lease it could not renew before anybody else may take the conversation.
import type { Database } from '../db/transaction.ts';
import type { EventText } from '../events/store.ts';
import { type StopReason, stopReason } from '../lifecycle/states.ts';
import { conversationTopic, userTopic } from '../topics.ts';
import { type ClaimedConversation, claimConversation, recordRun, releaseRun, renewRun } from './store.ts';

/** Why a run must end: its user stopped it, it lost its lease, or the process stops and leaves it to another. */
export type EndCause = 'stop' | 'lost' | 'shutdown';

export interface RunStep {
  readonly events?: readonly EventText[];
  readonly to?: 'RUNNING' | 'STOPPED';
  readonly reason?: StopReason;
  readonly runtimeStatus?: string;
}

/** What a run has to work with. */
export interface RunContext {
  readonly key: number;
  readonly userId: number;
  readonly id: string;
  /** Another run had it before and was lost: the agent's session is to be resumed. */
  readonly takenOver: boolean;
  readonly request: string;
  readonly sealed: string | null;
  readonly nextEvent: number;
  /** Aborted with an `EndCause`: whatever the run started must die now. */
  readonly signal: AbortSignal;
  /** Records a step. False: the run no longer counts, and its signal is or will be aborted. */
  record(step: RunStep): Promise<boolean>;
}

/** Runs an agent to its end. Settles only when nothing that it started is alive. */
export type RunAgent = (context: RunContext) => Promise<void>;

export interface WorkerTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Without a renewal for so long a run ends itself. Shorter than a lease by what killing an agent takes. */
  readonly giveUpMs: number;
  readonly pollMs: number;
}

const usualTimes: WorkerTimes = { leaseMs: 8_000, renewMs: 2_000, giveUpMs: 6_000, pollMs: 1_000 };

interface WorkerOptions {
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

export function createWorker(options: WorkerOptions) {
  const { database, runAgent, owner, nextId, slots, userRunsMax, onBackgroundError } = options;
  const times = { ...usualTimes, ...options.times };
  const runs = new Map<Promise<void>, AbortController>();
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let closed = false;

  function ring(userId: number, key: number): void {
    database.ring([conversationTopic(key), userTopic(userId)]);
  }

  /** Renews the lease until the run ends, and aborts it when it may no longer go on. */
  function keepLease(run: { key: number; runId: string }, since: number, controller: AbortController) {
    let renewedAt = since;
    async function renew(): Promise<void> {
      // From before it is sent: the answer may take long to come.
      const sentAt = performance.now();
      const outcome = await database.run(renewRun, { ...run, leaseMs: times.leaseMs });
      if (outcome === 'kept') renewedAt = sentAt;
      else controller.abort(outcome satisfies EndCause);
    }
    const renewals = setInterval(() => void renew().catch(onBackgroundError), times.renewMs);
    const watch = setInterval(() => {
      if (performance.now() - renewedAt > times.giveUpMs) controller.abort('lost' satisfies EndCause);
    }, times.renewMs / 4);
    return () => {
      clearInterval(renewals);
      clearInterval(watch);
    };
  }

  async function drive(
    claimed: ClaimedConversation,
    runId: string,
    since: number,
    controller: AbortController,
  ) {
    const { key, user_id: userId, id, status, request, sealed, next_event: nextEvent } = claimed;
    const run = { key, runId };
    const { signal } = controller;
    const stopKeeping = keepLease(run, since, controller);

    async function record({ events = [], ...step }: RunStep): Promise<boolean> {
      if (signal.aborted) return false;
      const done = await database.run(recordRun, { ...run, ...step, events, at: new Date().toISOString() });
      if (done) ring(userId, key);
      return done;
    }

    try {
      const takenOver = status === 'RUNNING';
      await runAgent({ key, userId, id, takenOver, request, sealed, nextEvent, signal, record });
    } catch (error) {
      onBackgroundError(error as Error);
      await record({ to: 'STOPPED', reason: stopReason('agent_error') }).catch(onBackgroundError);
    } finally {
      stopKeeping();
      await database.run(releaseRun, run).catch(onBackgroundError);
    }
  }

  async function look(): Promise<void> {
    while (runs.size < slots && !closed) {
      const runId = nextId();
      const since = performance.now();
      const claim = { runId, owner, leaseMs: times.leaseMs, userRunsMax };
      const claimed = await database.run(claimConversation, claim);
      if (claimed === undefined) return;
      const controller = new AbortController();
      const running = drive(claimed, runId, since, controller).finally(() => {
        runs.delete(running);
        wake();
      });
      runs.set(running, controller);
    }
  }

  /** Looks for what waits, now or right after the look that is under way. */
  function wake(): void {
    if (closed || runs.size >= slots) return;
    lookAgain = looking !== undefined;
    looking ??= look()
      .catch(onBackgroundError)
      .finally(() => {
        looking = undefined;
        if (lookAgain) wake();
      });
  }

  database.onRing(wake);
  const poll = setInterval(wake, times.pollMs);
  poll.unref();
  wake();

  return {
    size: () => runs.size,
    /** Ends every run and leaves the conversations to others. */
    close: async () => {
      closed = true;
      clearInterval(poll);
      await looking;
      for (const controller of runs.values()) controller.abort('shutdown' satisfies EndCause);
      await Promise.allSettled(runs.keys());
    },
  };
}

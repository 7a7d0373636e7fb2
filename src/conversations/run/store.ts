// Stores the leases and the progress of runs. Every write carries the id of its run, so that a run that has lost its
// conversation cannot change anything.
import { sql } from 'kysely';
import {
  one,
  prepared,
  type Queries,
  read,
  repeatableWrite,
  rows,
  type Steps,
  write,
} from '../../db/transaction.ts';
import type { EventText } from '../../events/store.ts';
import { closeInterruptedTurn, type ReleasedConversation, releasedColumns } from '../release.ts';
import {
  appendEvents,
  type LockedConversation,
  lockedColumns,
  recordAgentState,
  retitle,
  setStatus,
  withEvents,
  withoutRun,
} from '../row.ts';
import { agentStateOf, type StopReason } from '../states.ts';
import type { Recorded, Renewal, Renewed, Run, RunRecord } from './records.ts';
import { recordSet, renewalSet } from './runSets.ts';

const extendLease = prepared((q: Queries, run: Renewal) =>
  q.build
    .updateTable('conversations')
    .set({ lease_until: sql<number>`${q.now} + ${run.leaseMs}` })
    .where('key', '=', run.key)
    .where('run_id', '=', run.runId)
    .returning('wanted'),
);

export const renewRun = repeatableWrite(
  'runtime.renew',
  function* (q, run: Renewal): Steps<Renewed> {
    const row = yield* one(extendLease(q, run));
    if (row === undefined) return 'lost';
    return row.wanted === null ? 'kept' : 'stop';
  },
  renewalSet,
);

/** Locks the row if the run still owns it and has not recorded this step yet. */
function lockRun(q: Queries, record: RunRecord) {
  const { key, runId, step, approvalRequestIndex, progress = {}, to, runtimeStatus, commandEnded } = record;
  const ours = q.build
    .updateTable('conversations')
    .set({
      active_at: q.now,
      steps: step,
      step_from: sql.ref('next_event'),
      ...progress,
      // Its user may have chosen another one since the run was claimed.
      ...(progress.agent === undefined ? {} : { agent: sql<string>`coalesce(agent, ${progress.agent})` }),
      ...(progress.claims === 0 ? { crashes: 0 } : {}),
      ...(approvalRequestIndex === undefined
        ? {}
        : { question: sql<number>`next_event + ${approvalRequestIndex}` }),
      ...(commandEnded
        ? {
            commands: sql<number>`commands - 1`,
            command_from: sql<number | null>`case when commands > 1 then command_from end`,
          }
        : {}),
      ...(runtimeStatus === undefined ? {} : { runtime_status: runtimeStatus }),
      // Also if it is RUNNING already because a previous run was lost.
      ...(to === undefined ? {} : { runtime_status: null }),
    })
    .where('key', '=', key)
    .where('run_id', '=', runId)
    .where('steps', '<', step)
    .returning([...lockedColumns]);
  return record.isFinal ? ours : ours.where('wanted', 'is', null).where('status', '<>', 'STOPPED');
}

const findStep = prepared((q: Queries, { key, runId }: Run) =>
  q.build
    .selectFrom('conversations')
    .select(['steps', 'step_from'])
    .where('key', '=', key)
    .where('run_id', '=', runId),
);

/** Whether the state of the agent changes: a turn begins or ends, or an approval request opens or closes. */
function changesAgentState({ approvalRequestIndex, progress = {} }: RunRecord): boolean {
  return (
    approvalRequestIndex !== undefined || progress.turn_open !== undefined || progress.question !== undefined
  );
}

/** What the conversation waits for from this step on: an approval, or the next message after the end of a turn. */
function waitingSince(locked: LockedConversation, record: RunRecord) {
  const { approvalRequestIndex, waitsForAnswer, events, at } = record;
  const from = locked.next_event;
  if (approvalRequestIndex !== undefined)
    return { waits_for: 'approval', eventId: from + approvalRequestIndex, at } as const;
  if (!waitsForAnswer || agentStateOf(locked) !== 'awaiting_user_input') return undefined;
  return { waits_for: 'answer', eventId: from + events.length - 1, at } as const;
}

/** Records a step of a run exactly once, however often it is sent. */
export const recordRun = repeatableWrite(
  'runtime.record',
  function* (q, record: RunRecord): Steps<Recorded> {
    const { events, to, reason = null, step, at } = record;
    const locked = (yield* one(lockRun(q, record))) as LockedConversation | undefined;
    if (locked === undefined) {
      // The step was recorded before, and only the answer to its commit was lost.
      const last = yield* one(findStep(q, record));
      return last?.steps === step ? (last.step_from ?? undefined) : undefined;
    }
    if (to !== undefined && to !== locked.status) yield* setStatus(q, locked, { to, reason, events, at });
    else {
      yield* appendEvents(q, locked, events, { waiting: waitingSince(locked, record) });
      if (locked.status === 'RUNNING' && changesAgentState(record))
        yield* recordAgentState(q, withEvents(locked, events), at);
    }
    return locked.next_event;
  },
  recordSet,
);

interface RunTitle extends Run {
  readonly title: string;
  /** The title is changed only if it is one of these. */
  readonly instead: readonly string[];
  readonly at: string;
}

/** Changes the title. Returns false if the run no longer owns the conversation, or a person has set the title. */
export const titleRun = repeatableWrite('runtime.title', function* (q, input: RunTitle): Steps<boolean> {
  const { key, runId, title, instead, at } = input;
  const locked = (yield* one(
    q.build
      .updateTable('conversations')
      .set((e) => ({ next_event: e.ref('next_event') }))
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .returning([...lockedColumns]),
  )) as LockedConversation | undefined;
  if (locked === undefined || !instead.includes(locked.title)) return false;
  yield* retitle(q, locked, title, at);
  return true;
});

export interface RunState {
  readonly key: number;
  readonly run_id: string | null;
  readonly wanted: string | null;
  readonly next_event: number;
}

/** The states of all conversations that this process runs, in one query. */
export const readRunStates = read('runtime.look', function* (q, keys: readonly number[]): Steps<RunState[]> {
  return yield* rows(
    q.build
      .selectFrom('conversations')
      .select(['key', 'run_id', 'wanted', 'next_event'])
      .where('key', 'in', [...keys]),
  );
});

interface RunCrash extends Run {
  /** The conversation is stopped at this number of crashes. */
  readonly crashesMax: number;
  /** Added to the log if another run continues. */
  readonly goesOn: EventText;
  readonly reason: StopReason;
  /** Added to the log if the conversation is stopped. */
  readonly stopped: readonly EventText[];
  readonly at: string;
}

/** Counts an uncaught error of the run and stops the conversation if there were too many. */
export const crashRun = write('runtime.crash', function* (q, crash: RunCrash): Steps<boolean> {
  const { key, runId, crashesMax, goesOn, reason, stopped, at } = crash;
  const row = yield* one(
    q.build
      .updateTable('conversations')
      .set({ crashes: sql<number>`crashes + 1` })
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .where('status', '<>', 'STOPPED')
      .returning([...lockedColumns, 'crashes']),
  );
  if (row === undefined) return false;
  const { crashes, ...locked } = row;
  if (Number(crashes) < crashesMax) yield* appendEvents(q, locked as LockedConversation, [goesOn]);
  else yield* setStatus(q, locked as LockedConversation, { to: 'STOPPED', reason, events: stopped, at });
  return true;
});

interface Release extends Run {
  /** The run crashed, so its claim still counts as one without progress. */
  readonly crashed?: boolean;
  readonly at: string;
}

/** Releases the conversation after all processes of the run have ended. A normal end resets the failure count. */
export const releaseRun = repeatableWrite(
  'runtime.release',
  function* (q, { key, runId, crashed = false, at }: Release): Steps<boolean> {
    const released = (yield* one(
      q.build
        .updateTable('conversations')
        .set({ ...withoutRun(q), ...(crashed ? {} : { claims: 0 }) })
        .where('key', '=', key)
        .where('run_id', '=', runId)
        .returning([...releasedColumns]),
    )) as ReleasedConversation | undefined;
    if (released === undefined) return false;
    yield* closeInterruptedTurn(q, released, at);
    return true;
  },
);

/** Which of these conversations have a run or will have one. */
export const findActive = read('runtime.findActive', function* (q, keys: readonly number[]): Steps<number[]> {
  if (keys.length === 0) return [];
  const found = yield* rows(
    q.build
      .selectFrom('conversations')
      .select('key')
      .where('key', 'in', [...keys])
      .where((e) => e.or([e('status', '<>', 'STOPPED'), e('run_id', 'is not', null)])),
  );
  return found.map(({ key }) => key);
});

export const runtimeTransactions = [
  renewRun,
  recordRun,
  titleRun,
  readRunStates,
  crashRun,
  releaseRun,
  findActive,
];

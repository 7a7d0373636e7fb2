// Runs: which process has which conversation, and until when. Whatever a run writes carries its id, so that one that
// lost its conversation, and does not know it yet, changes nothing.
import { type RawBuilder, sql } from 'kysely';
import {
  one,
  prepared,
  type Queries,
  type Query,
  read,
  repeatableWrite,
  rows,
  type Steps,
  write,
} from '../db/transaction.ts';
import type { EventText } from '../events/store.ts';
import { type Released, releasedColumns, settleLog } from '../lifecycle/releaseStore.ts';
import type { ConversationStatus, StopReason } from '../lifecycle/states.ts';
import {
  type Held,
  heldColumns,
  moveTo,
  noRun,
  retitle,
  tellAgentState,
  tellEvents,
} from '../lifecycle/store.ts';
import { readUsage } from '../usage/columns.ts';

interface Claim {
  readonly runId: string;
  /** The process. */
  readonly owner: string;
  readonly leaseMs: number;
  /** Runs that one user may have at the same time; 0: as many as there are. */
  readonly userRunsMax: number;
}

export interface ClaimedConversation {
  readonly key: number;
  readonly user_id: number;
  readonly id: string;
  readonly status: ConversationStatus;
  readonly request: string;
  readonly sealed: string | null;
  readonly next_event: number;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly git_provider: string | null;
  /** The id of the agent that it keeps; null: it has had no session yet. */
  readonly agent: string | null;
  readonly agent_session: string | null;
  /** JSON: kinds of tools that the user has always allowed. */
  readonly always_allowed: string | null;
  readonly workspace_node: string | null;
  readonly heard: number;
  readonly turn_open: number;
  readonly turn_from: number | null;
  readonly session_from: number | null;
  readonly question: number | null;
  /** With this one. */
  readonly claims: number;
  readonly cost_nanos: number;
}

const claimedColumns = [
  'key',
  'user_id',
  'id',
  'status',
  'request',
  'sealed',
  'next_event',
  'repository',
  'branch',
  'git_provider',
  'agent',
  'agent_session',
  'always_allowed',
  'workspace_node',
  'heard',
  'turn_open',
  'turn_from',
  'session_from',
  'question',
  'claims',
] as const;

/** A conversation with the id of the run that has it. */
export interface Run {
  readonly key: number;
  readonly runId: string;
}

interface Waiting {
  readonly user_id: number;
  readonly key: number;
}

/** The oldest conversation that waits, of each user who has one: found by leaping from user to user. */
const listWaiting = prepared((q: Queries, _: object): Query<Waiting> => {
  const free = sql`run_id is null and status <> 'STOPPED'`;
  const query: RawBuilder<Waiting> = sql`
    with recursive waiting (user_id) as (
      select min(user_id) from conversations where ${free}
      union all
      select (select min(user_id) from conversations where ${free} and user_id > waiting.user_id)
      from waiting where user_id is not null)
    select user_id, (select min(key) from conversations where ${free} and user_id = waiting.user_id) as key
    from waiting where user_id is not null`;
  return { compile: () => query.compile(q.build) };
});

const countRuns = prepared((q: Queries, _: object) =>
  q.build
    .selectFrom('conversations')
    .select((e) => ['user_id', e.fn.countAll<number>().as('runs')])
    .where('run_id', 'is not', null)
    .groupBy('user_id'),
);

function* runsByUser(q: Queries): Steps<ReadonlyMap<number, number>> {
  return new Map((yield* rows(countRuns(q, {}))).map(({ user_id, runs }) => [user_id, Number(runs)]));
}

/** Others who claim for the same user wait until this transaction ends: none counts too few. */
function lockUser(q: Queries, userId: number): Query<unknown> {
  return q.build
    .updateTable('users')
    .set((e) => ({ created_at: e.ref('created_at') }))
    .where('id', '=', userId)
    .returning('id');
}

const takeConversation = prepared((q: Queries, claim: Claim & { key: number }) =>
  q.build
    .updateTable('conversations')
    .set({
      run_id: claim.runId,
      owner: claim.owner,
      lease_until: sql<number>`${q.now} + ${claim.leaseMs}`,
      claimed_at: q.now,
      active_at: q.now,
      wanted: null,
      steps: 0,
      claims: sql<number>`claims + 1`,
    })
    .where('key', '=', claim.key)
    .where('run_id', 'is', null)
    .where('status', '<>', 'STOPPED')
    .returning([...claimedColumns, readUsage(q.kind, 'cost_nanos')]),
);

/**
 * Takes the next conversation: of the user with the fewest runs, the oldest that waits. One that is RUNNING lost the
 * run that it had. Undefined where none waits, or every user who has one has runs enough.
 */
export const claimConversation = write('runtime.claim', function* (q, claim: Claim): Steps<
  ClaimedConversation | undefined
> {
  const { userRunsMax } = claim;
  const waiting = yield* rows(listWaiting(q, {}));
  if (waiting.length === 0) return undefined;
  const runs = yield* runsByUser(q);
  const runsOf = ({ user_id }: Waiting) => runs.get(user_id) ?? 0;
  const fair = waiting.toSorted((a, b) => runsOf(a) - runsOf(b) || a.key - b.key);
  for (const candidate of fair) {
    if (userRunsMax > 0) {
      if (runsOf(candidate) >= userRunsMax) return undefined;
      yield* rows(lockUser(q, candidate.user_id));
      const now = (yield* runsByUser(q)).get(candidate.user_id) ?? 0;
      if (now >= userRunsMax) continue;
    }
    const taken = yield* one(takeConversation(q, { ...claim, key: candidate.key }));
    if (taken !== undefined) return { ...taken, status: taken.status as ConversationStatus };
  }
  return undefined;
});

const extendLease = prepared((q: Queries, run: Run & { leaseMs: number }) =>
  q.build
    .updateTable('conversations')
    .set({ lease_until: sql<number>`${q.now} + ${run.leaseMs}` })
    .where('key', '=', run.key)
    .where('run_id', '=', run.runId)
    .returning('wanted'),
);

/** `lost`: somebody else may have it by now. `stop`: still ours, and it is to end. */
export const renewRun = repeatableWrite('runtime.renew', function* (q, run: Run & { leaseMs: number }): Steps<
  'kept' | 'stop' | 'lost'
> {
  const row = yield* one(extendLease(q, run));
  if (row === undefined) return 'lost';
  return row.wanted === null ? 'kept' : 'stop';
});

/** How far the run has got with its agent. */
export interface RunProgress {
  readonly agent?: string;
  readonly agent_session?: string;
  readonly always_allowed?: string;
  readonly workspace_node?: string;
  readonly heard?: number;
  readonly turn_open?: 0 | 1;
  readonly turn_from?: number | null;
  readonly session_from?: number | null;
  /** No question waits any more. */
  readonly question?: null;
  /** It gets on: whoever takes it next begins to count anew. */
  readonly claims?: 0;
}

interface RunRecord extends Run {
  /** Counts from 1 in each run: one that was recorded already is not recorded again. */
  readonly step: number;
  readonly events: readonly EventText[];
  /** The place in `events` of a question that waits for the user's answer. */
  readonly asks?: number | undefined;
  /** Recorded also where its user has stopped it meanwhile. */
  readonly lastWords?: boolean | undefined;
  readonly progress?: RunProgress | undefined;
  /** Where it goes to another state. */
  readonly to?: 'RUNNING' | 'STOPPED' | undefined;
  readonly reason?: StopReason | undefined;
  /** What goes on while it starts. */
  readonly runtimeStatus?: string | undefined;
  readonly at: string;
}

/**
 * The id of the first event; `undefined`: it no longer has the conversation, or is to end. Of a step that was recorded
 * before, where only the answer was lost, the id is known where it asks; otherwise it is negative.
 */
type Recorded = number | undefined;

const unknownId = -1;

/** Takes the row where the run still has it, with the number of its last step before this one. */
function holdRun(q: Queries, record: RunRecord) {
  const { key, runId, step, asks, progress = {}, to, runtimeStatus } = record;
  const ours = q.build
    .updateTable('conversations')
    .set({
      active_at: q.now,
      steps: step,
      ...progress,
      ...(progress.claims === 0 ? { crashes: 0 } : {}),
      ...(asks === undefined ? {} : { question: sql<number>`next_event + ${asks}` }),
      ...(runtimeStatus === undefined ? {} : { runtime_status: runtimeStatus }),
      // Also where it is RUNNING already, with a run that was lost.
      ...(to === undefined ? {} : { runtime_status: null }),
    })
    .where('key', '=', key)
    .where('run_id', '=', runId)
    .where('steps', '<', step)
    .returning([...heldColumns]);
  return record.lastWords ? ours : ours.where('wanted', 'is', null).where('status', '<>', 'STOPPED');
}

const findStep = prepared((q: Queries, { key, runId }: Run) =>
  q.build
    .selectFrom('conversations')
    .select(['steps', 'question'])
    .where('key', '=', key)
    .where('run_id', '=', runId),
);

/** Whether its agent begins or ends a turn, or waits for an answer, or no longer does. */
function turnsAgent({ asks, progress = {} }: RunRecord): boolean {
  return asks !== undefined || progress.turn_open !== undefined || progress.question !== undefined;
}

/** Records what a run did, once, however often it is sent. */
export const recordRun = repeatableWrite('runtime.record', function* (q, record: RunRecord): Steps<Recorded> {
  const { events, to, reason = null, step, asks, at } = record;
  const held = (yield* one(holdRun(q, record))) as Held | undefined;
  if (held === undefined) {
    const last = yield* one(findStep(q, record));
    if (last === undefined || last.steps < step) return undefined;
    return asks === undefined || last.question === null ? unknownId : last.question - asks;
  }
  if (to !== undefined && to !== held.status) yield* moveTo(q, held, { to, reason, events, at });
  else {
    yield* tellEvents(q, held, events);
    if (held.status === 'RUNNING' && turnsAgent(record)) yield* tellAgentState(q, held, at);
  }
  return held.next_event;
});

interface RunTitle extends Run {
  readonly title: string;
  /** Only where it still has one of these. */
  readonly instead: readonly string[];
  readonly at: string;
}

/** Gives the conversation of a run another title. False: it no longer has it, or somebody has given it a title. */
export const titleRun = repeatableWrite('runtime.title', function* (q, input: RunTitle): Steps<boolean> {
  const { key, runId, title, instead, at } = input;
  const held = (yield* one(
    q.build
      .updateTable('conversations')
      .set((e) => ({ next_event: e.ref('next_event') }))
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .returning([...heldColumns]),
  )) as Held | undefined;
  if (held === undefined || !instead.includes(held.title)) return false;
  yield* retitle(q, held, title, at);
  return true;
});

export interface RunLook {
  readonly key: number;
  readonly run_id: string | null;
  readonly wanted: string | null;
  readonly next_event: number;
}

/** How conversations stand that this process has: one look for all of its runs. */
export const lookAtRuns = read('runtime.look', function* (q, keys: readonly number[]): Steps<RunLook[]> {
  return yield* rows(
    q.build
      .selectFrom('conversations')
      .select(['key', 'run_id', 'wanted', 'next_event'])
      .where('key', 'in', [...keys]),
  );
});

interface RunCrash extends Run {
  /** So many stop the conversation. */
  readonly crashesMax: number;
  /** Added to the log where another run goes on. */
  readonly goesOn: EventText;
  readonly reason: StopReason;
  /** Added to the log where it stops. */
  readonly stopped: readonly EventText[];
  readonly at: string;
}

/** Counts an error of the run that nobody caught, and stops a conversation that meets one again. */
export const crashRun = write('runtime.crash', function* (q, crash: RunCrash): Steps<boolean> {
  const { key, runId, crashesMax, goesOn, reason, stopped, at } = crash;
  const row = yield* one(
    q.build
      .updateTable('conversations')
      .set({ crashes: sql<number>`crashes + 1` })
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .where('status', '<>', 'STOPPED')
      .returning([...heldColumns, 'crashes']),
  );
  if (row === undefined) return false;
  const { crashes, ...held } = row;
  if (Number(crashes) < crashesMax) yield* tellEvents(q, held as Held, [goesOn]);
  else yield* moveTo(q, held as Held, { to: 'STOPPED', reason, events: stopped, at });
  return true;
});

interface Release extends Run {
  /** It did not end in good order, so that it still counts as one that did not get on. */
  readonly crashed?: boolean;
  readonly at: string;
}

/** Gives the conversation free, once nothing of the run is alive. An end in good order is no failure. */
export const releaseRun = repeatableWrite(
  'runtime.release',
  function* (q, { key, runId, crashed = false, at }: Release): Steps<boolean> {
    const released = (yield* one(
      q.build
        .updateTable('conversations')
        .set({ ...noRun, ...(crashed ? {} : { claims: 0 }) })
        .where('key', '=', key)
        .where('run_id', '=', runId)
        .returning([...releasedColumns]),
    )) as Released | undefined;
    if (released === undefined) return false;
    yield* settleLog(q, released, at);
    return true;
  },
);

export const runtimeTransactions = [
  claimConversation,
  renewRun,
  recordRun,
  titleRun,
  lookAtRuns,
  crashRun,
  releaseRun,
];

// Runs: which process has which conversation, and until when. Whatever a run writes carries its id, so that one that
// lost its conversation, and does not know it yet, changes nothing.
import { type RawBuilder, sql } from 'kysely';
import { one, prepared, type Queries, type Query, rows, type Steps, write } from '../db/transaction.ts';
import type { EventText } from '../events/store.ts';
import type { ConversationStatus, StopReason } from '../lifecycle/states.ts';
import { type Held, heldColumns, noRun, tellEvents, turn } from '../lifecycle/store.ts';

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
}

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
    })
    .where('key', '=', claim.key)
    .where('run_id', 'is', null)
    .where('status', '<>', 'STOPPED')
    .returning(['key', 'user_id', 'id', 'status', 'request', 'sealed', 'next_event']),
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
export const renewRun = write('runtime.renew', function* (q, run: Run & { leaseMs: number }): Steps<
  'kept' | 'stop' | 'lost'
> {
  const row = yield* one(extendLease(q, run));
  if (row === undefined) return 'lost';
  return row.wanted === null ? 'kept' : 'stop';
});

interface RunRecord extends Run {
  readonly events: readonly EventText[];
  /** Where it goes to another state. */
  readonly to?: 'RUNNING' | 'STOPPED' | undefined;
  readonly reason?: StopReason | undefined;
  /** What goes on while it starts. */
  readonly runtimeStatus?: string | undefined;
  readonly at: string;
}

/** Records what a run did. False: it no longer has the conversation, or is to end, and nothing was recorded. */
export const recordRun = write('runtime.record', function* (q, record: RunRecord): Steps<boolean> {
  const { key, runId, events, to, reason = null, runtimeStatus, at } = record;
  const held = (yield* one(
    q.build
      .updateTable('conversations')
      .set({ active_at: q.now, ...(runtimeStatus === undefined ? {} : { runtime_status: runtimeStatus }) })
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .where('wanted', 'is', null)
      .where('status', '<>', 'STOPPED')
      .returning([...heldColumns]),
  )) as Held | undefined;
  if (held === undefined) return false;
  if (to === undefined || to === held.status) yield* tellEvents(q, held, events);
  else yield* turn(q, held, { to, reason, events, at });
  return true;
});

/** Gives the conversation free, once nothing of the run is alive. */
export const releaseRun = write('runtime.release', function* (q, { key, runId }: Run): Steps<boolean> {
  const released = yield* one(
    q.build
      .updateTable('conversations')
      .set(noRun)
      .where('key', '=', key)
      .where('run_id', '=', runId)
      .returning('key'),
  );
  return released !== undefined;
});

export const runtimeTransactions = [claimConversation, renewRun, recordRun, releaseRun];

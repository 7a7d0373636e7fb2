// Finds and ends runs that have died, make no progress, or are idle while others wait.
import { type ExpressionBuilder, sql } from 'kysely';
import type { Tables } from '../../db/tables.ts';
import { one, type Queries, read, rows, type Steps, write } from '../../db/transaction.ts';
import { type EventText, followedMs } from '../../events/store.ts';
import { closeInterruptedTurn, type ReleasedConversation, releasedColumns } from '../release.ts';
import { type LockedConversation, lockedColumns, noRun, setStatus, withoutRun } from '../row.ts';
import type { StopReason } from '../states.ts';
import { isWaiting, reservedOrder, withWaitingUsers } from '../waitingUsers.ts';

export interface SweepTimes {
  /** The clock has not jumped for so long that every living run has renewed its lease. */
  readonly clockIsSteady?: boolean;
  /** The last reading of the clock. Stored times were repaired if it showed a clock change. */
  readonly seenAt?: number;
  /** How long a starting run may make no progress. */
  readonly startStalledMs: number;
  /** How long a run may take from its claim until it is RUNNING. */
  readonly startMs: number;
  readonly idleMs: number;
  /** How long a run waits for input if nobody follows the conversation; 0 or absent means as long as any other. */
  readonly unattendedMs?: number;
  /** How long a run may be idle if its user has others waiting, or if a user without any run waits. */
  readonly crowdedIdleMs: number;
  /** How long others must have waited first, so that a worker with a free slot can take them instead. */
  readonly crowdedWaitMs: number;
  /** As `crowdedIdleMs` for a run with an open approval request, which would be lost. */
  readonly crowdedAskingMs: number;
}

/** `room` means that the run is idle and others wait for its slot. */
export type OverdueKind = 'lease' | 'start' | 'idle' | 'unattended' | 'room';

type Where = ExpressionBuilder<Tables, 'conversations'>;

/**
 * Whether others wait that may take its slot: of the same user, or of a user without any run. Written so that PostgreSQL
 * reads one entry of a user's queue, and not all of them into a hash table.
 */
function othersWait(e: Where) {
  const ofSameUser = sql<boolean>`(
    select other.key from conversations as other
    where other.user_id between conversations.user_id and conversations.user_id and ${isWaiting}
    order by ${reservedOrder} limit 1) is not null`;
  const ofStarving = sql<boolean>`exists (
    ${withWaitingUsers} select user_id from waiting where user_id is not null
      and not exists (select 1 from conversations as run where run.run_id is not null and run.user_id = waiting.user_id))`;
  return e.or([ofSameUser, ofStarving]);
}

/** No lease is longer than this. */
const leaseMsMax = 5 * 60_000;

type TimeColumn = 'active_at' | 'claimed_at' | 'followed_at' | 'lease_until';

/** Whether a time is that long ago, also by the last reading of the clock: the clock may have changed since. */
function isLongAgo(q: Queries, e: Where, column: TimeColumn, ms: number, { seenAt }: SweepTimes) {
  const byNow = e(`conversations.${column}`, '<', sql<number>`${q.now} - ${ms}`);
  return seenAt === undefined ? byNow : e.and([byNow, e(`conversations.${column}`, '<', seenAt - ms)]);
}

/** A lease that ends too far in the future dates from before a clock change; a living run would have renewed it. */
function leaseIsOver(q: Queries, e: Where, times: SweepTimes) {
  const { clockIsSteady = false, seenAt = 0 } = times;
  const isPast = isLongAgo(q, e, 'lease_until', 0, times);
  const isImpossible = e.and([
    e('conversations.lease_until', '>', sql<number>`${q.now} + ${leaseMsMax}`),
    e('conversations.lease_until', '>', seenAt + leaseMsMax),
  ]);
  return clockIsSteady ? e.or([isPast, isImpossible]) : isPast;
}

export function overdue(q: Queries, e: Where, kind: OverdueKind, times: SweepTimes) {
  const isOld = (column: TimeColumn, ms: number) => isLongAgo(q, e, column, ms, times);
  const running = e('conversations.run_id', 'is not', null);
  const works = e('conversations.status', '=', 'RUNNING');
  /** The run waits for its user: it has no open turn, no open request, and no unanswered message or command. */
  const waitsForInput = [
    running,
    works,
    e('conversations.runtime_status', 'is', null),
    e('conversations.wanted', 'is', null),
    e('conversations.turn_open', '=', 0),
    e('conversations.question', 'is', null),
    e('conversations.said', '<=', e.ref('conversations.heard')),
    e('conversations.commands', '=', 0),
  ];
  switch (kind) {
    case 'lease':
      return e.and([running, leaseIsOver(q, e, times)]);
    case 'start':
      return e.and([
        running,
        // A conversation that was taken over is RUNNING while its new run starts.
        e.or([e('conversations.status', '=', 'STARTING'), e('conversations.runtime_status', 'is not', null)]),
        e('conversations.wanted', 'is', null),
        e.or([isOld('active_at', times.startStalledMs), isOld('claimed_at', times.startMs)]),
      ]);
    case 'idle':
      return e.and([
        running,
        works,
        e.or([
          isOld('active_at', times.idleMs),
          e.and([
            e('conversations.question', 'is not', null),
            isOld('active_at', times.crowdedAskingMs),
            othersWait(e),
          ]),
        ]),
      ]);
    case 'unattended':
      return e.and([
        ...waitsForInput,
        // It has had a turn.
        e('conversations.heard', '>', 0),
        isOld('active_at', times.unattendedMs ?? 0),
        e.or([
          e('conversations.followed_at', 'is', null),
          isOld('followed_at', Math.max(times.unattendedMs ?? 0, followedMs)),
        ]),
      ]);
    case 'room':
      return e.and([
        ...waitsForInput,
        e('conversations.active_at', '<=', sql<number>`${q.now} - ${times.crowdedIdleMs}`),
      ]);
  }
}

interface OverdueQuery {
  readonly kind: OverdueKind;
  readonly times: SweepTimes;
  readonly max: number;
}

export const findOverdue = read('sweep.find', function* (q, { kind, times, max }: OverdueQuery): Steps<
  number[]
> {
  const found = yield* rows(
    q.build
      .selectFrom('conversations')
      .select('key')
      .where((e) => overdue(q, e, kind, times))
      .limit(max),
  );
  return found.map(({ key }) => key);
});

interface Overdue {
  readonly key: number;
  readonly times: SweepTimes;
}

/**
 * Releases a conversation whose lease is over. Its run, if it is still alive, can no longer write. Returns the id of
 * the user.
 */
export const releaseExpired = write(
  'sweep.release',
  function* (q, { key, times, at }: Overdue & { at: string }): Steps<number | undefined> {
    const released = (yield* one(
      q.build
        .updateTable('conversations')
        .set(withoutRun(q))
        .where('key', '=', key)
        .where((e) => overdue(q, e, 'lease', times))
        .returning([...releasedColumns]),
    )) as ReleasedConversation | undefined;
    if (released === undefined) return undefined;
    yield* closeInterruptedTurn(q, released, at);
    return released.user_id;
  },
);

/** For a database that only one process uses: all earlier runs are dead. Returns how many there were. */
export const releaseAll = write('sweep.releaseAll', function* (q, { at }: { at: string }): Steps<number> {
  const released = (yield* rows(
    q.build
      .updateTable('conversations')
      .set(noRun)
      .where('run_id', 'is not', null)
      .returning([...releasedColumns]),
  )) as ReleasedConversation[];
  for (const one of released) yield* closeInterruptedTurn(q, one, at);
  return released.length;
});

interface StopOverdue extends Overdue {
  readonly kind: Exclude<OverdueKind, 'lease'>;
  readonly reason: StopReason;
  readonly events: readonly EventText[];
  /** Recorded first if an approval request is open. */
  readonly expired: EventText;
  readonly at: string;
}

/** Stops the conversation if it is still overdue. Returns its user. */
export const stopOverdue = write('sweep.stop', function* (q, input: StopOverdue): Steps<number | undefined> {
  const { key, kind, times, reason, expired, at } = input;
  const locked = (yield* one(
    q.build
      .updateTable('conversations')
      .set((e) => ({ next_event: e.ref('next_event') }))
      .where('key', '=', key)
      .where((e) => overdue(q, e, kind, times))
      .returning([...lockedColumns]),
  )) as LockedConversation | undefined;
  if (locked === undefined) return undefined;
  const events = locked.question === null ? input.events : [expired, ...input.events];
  yield* setStatus(q, locked, { to: 'STOPPED', reason, events, at });
  return locked.user_id;
});

export const sweepTransactions = [findOverdue, releaseExpired, releaseAll, stopOverdue];

// Conversations that should have left their state: whose run has died, does not get on, or has nothing to do.
import { type ExpressionBuilder, sql } from 'kysely';
import type { Tables } from '../db/tables.ts';
import { one, type Queries, read, rows, type Steps, write } from '../db/transaction.ts';
import type { EventText } from '../events/store.ts';
import type { StopReason } from '../lifecycle/states.ts';
import { type Held, heldColumns, moveTo, noRun } from '../lifecycle/store.ts';

export interface SweepTimes {
  /** Without progress while it starts. */
  readonly startStalledMs: number;
  /** From the claim until it runs. */
  readonly startMs: number;
  readonly idleMs: number;
  /** The same where others of its user wait for a free worker, or those of a user who has no run at all. */
  readonly crowdedIdleMs: number;
  /** The same of one whose agent asks: what it asks is lost with it. */
  readonly crowdedAskingMs: number;
}

type OverdueKind = 'lease' | 'start' | 'idle';

type Where = ExpressionBuilder<Tables, 'conversations'>;

function overdue(q: Queries, e: Where, kind: OverdueKind, times: SweepTimes) {
  const before = (ms: number) => sql<number>`${q.now} - ${ms}`;
  const running = e('conversations.run_id', 'is not', null);
  switch (kind) {
    case 'lease':
      return e.and([running, e('conversations.lease_until', '<', q.now)]);
    case 'start':
      return e.and([
        running,
        // One that was taken over is RUNNING while it starts again.
        e.or([e('conversations.status', '=', 'STARTING'), e('conversations.runtime_status', 'is not', null)]),
        e('conversations.wanted', 'is', null),
        e.or([
          e('conversations.active_at', '<', before(times.startStalledMs)),
          e('conversations.claimed_at', '<', before(times.startMs)),
        ]),
      ]);
    case 'idle': {
      const waiting = e
        .selectFrom('conversations as other')
        .select('other.key')
        .where('other.run_id', 'is', null)
        // As the index has it.
        .where('other.status', '<>', 'STOPPED');
      const ofSameUser = waiting.whereRef('other.user_id', '=', 'conversations.user_id');
      /** Whose user has no run at all: nobody's idle ones are worth more than that. */
      const starving = waiting.where((w) =>
        w.not(
          w.exists(
            w
              .selectFrom('conversations as run')
              .select('run.key')
              .whereRef('run.user_id', '=', 'other.user_id')
              .where('run.run_id', 'is not', null),
          ),
        ),
      );
      return e.and([
        running,
        e('conversations.status', '=', 'RUNNING'),
        e.or([
          e('conversations.active_at', '<', before(times.idleMs)),
          e.and([
            // It waits for its user, and does not work.
            e.or([
              e.and([
                e('conversations.turn_open', '=', 0),
                e('conversations.active_at', '<', before(times.crowdedIdleMs)),
              ]),
              e.and([
                e('conversations.question', 'is not', null),
                e('conversations.active_at', '<', before(times.crowdedAskingMs)),
              ]),
            ]),
            e.or([e.exists(ofSameUser), e.exists(starving)]),
          ]),
        ]),
      ]);
    }
  }
}

interface Look {
  readonly kind: OverdueKind;
  readonly times: SweepTimes;
  readonly max: number;
}

export const findOverdue = read('sweep.find', function* (q, { kind, times, max }: Look): Steps<number[]> {
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

/** The run has died, or does not know that it has: it is fenced off, and another may take the conversation. */
export const releaseExpired = write('sweep.release', function* (q, { key, times }: Overdue): Steps<boolean> {
  const released = yield* one(
    q.build
      .updateTable('conversations')
      .set(noRun)
      .where('key', '=', key)
      .where((e) => overdue(q, e, 'lease', times))
      .returning('key'),
  );
  return released !== undefined;
});

/**
 * Of a database that one process has alone: whoever had runs before is dead. Returns how many there were.
 */
export const releaseAll = write('sweep.releaseAll', function* (q, _: null): Steps<number> {
  const released = yield* rows(
    q.build.updateTable('conversations').set(noRun).where('run_id', 'is not', null).returning('key'),
  );
  return released.length;
});

interface StopOverdue extends Overdue {
  readonly kind: 'start' | 'idle';
  readonly reason: StopReason;
  readonly events: readonly EventText[];
  /** Told first where its agent asks. */
  readonly expired: EventText;
  readonly at: string;
}

/** Stops it, where it is still overdue. Returns whose it is. */
export const stopOverdue = write('sweep.stop', function* (q, input: StopOverdue): Steps<number | undefined> {
  const { key, kind, times, reason, expired, at } = input;
  const held = (yield* one(
    q.build
      .updateTable('conversations')
      .set((e) => ({ next_event: e.ref('next_event') }))
      .where('key', '=', key)
      .where((e) => overdue(q, e, kind, times))
      .returning([...heldColumns]),
  )) as Held | undefined;
  if (held === undefined) return undefined;
  const events = held.question === null ? input.events : [expired, ...input.events];
  yield* moveTo(q, held, { to: 'STOPPED', reason, events, at });
  return held.user_id;
});

export const sweepTransactions = [findOverdue, releaseExpired, releaseAll, stopOverdue];

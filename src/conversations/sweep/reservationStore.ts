// Ends the reservations of waiting conversations, so that any machine may take them: when their machine did not take them
// in time, and when it has no worker any more.
import { sql } from 'kysely';
import { type Queries, type Query, read, rows, type Steps, write } from '../../db/transaction.ts';
import { restorableWaitMs, takesWork } from '../reservation.ts';
import { isWaiting } from '../waitingUsers.ts';

/** A worker that has not been seen for so long has died. */
const goneMs = 20_000;

const isReserved = sql<boolean>`${isWaiting} and reserved_for <> ''`;

interface Machine {
  readonly id: string;
  /** 1 if one of its workers is alive. */
  readonly lives: number;
}

/** The machines that conversations are reserved for. It jumps from machine to machine in the index. */
function machines(q: Queries): Query<Machine> {
  const query = sql<Machine>`
    with recursive machine (id) as (
      select min(reserved_for) from conversations where ${isReserved}
      union all
      select (select min(reserved_for) from conversations where ${isReserved} and reserved_for > machine.id)
      from machine where id is not null)
    select id, case when ${takesWork(q, sql.ref('machine.id'), goneMs)} then 1 else 0 end as lives
    from machine where id is not null`;
  return { compile: () => query.compile(q.build) };
}

function ended(q: Queries, { id, lives }: Machine, max: number): Query<{ key: number }> {
  // The time is a query of its own: PostgreSQL looks nothing up in an index by a clock that may change meanwhile.
  const isOver = Number(lives) === 1 ? sql`and reserved_until <= (select ${q.now})` : sql``;
  const query = sql<{ key: number }>`
    select key from conversations where ${isReserved} and reserved_for = ${id} ${isOver}
    order by reserved_until limit ${max}`;
  return { compile: () => query.compile(q.build) };
}

/** Waiting conversations whose reservation should end, at most `max` for each machine. */
export const findEndedReservations = read('sweep.findEndedReservations', function* (q, max: number): Steps<
  number[]
> {
  const keys: number[] = [];
  for (const machine of yield* rows(machines(q)))
    keys.push(...(yield* rows(ended(q, machine, max))).map(({ key }) => key));
  return keys;
});

interface Reserved {
  readonly key: number;
  readonly user_id: number;
}

/** Returns the users of these conversations who may not have another run now. */
function* usersAtLimit(q: Queries, reserved: readonly Reserved[], userRunsMax: number): Steps<Set<number>> {
  if (userRunsMax === 0) return new Set();
  const full = yield* rows(
    q.build
      .selectFrom('conversations')
      .select('user_id')
      .where('run_id', 'is not', null)
      .where('user_id', 'in', [...new Set(reserved.map(({ user_id }) => user_id))])
      .groupBy('user_id')
      .having((e) => e.fn.countAll<number>(), '>=', userRunsMax),
  );
  return new Set(full.map(({ user_id }) => user_id));
}

interface EndReservations {
  readonly keys: readonly number[];
  /** How many runs one user may have at the same time; 0 means no limit. */
  readonly userRunsMax: number;
}

/**
 * Ends the reservations whose time is over. One whose user may not have another run is extended, because no machine
 * could take the conversation. Returns how many it has ended.
 */
export const endReservations = write(
  'sweep.endReservations',
  function* (q, input: EndReservations): Steps<number> {
    const { keys, userRunsMax } = input;
    const over = q.build
      .selectFrom('conversations')
      .select([
        'key',
        'user_id',
        sql<number>`case when reserved_until <= ${q.now} then 1 else 0 end`.as('isLate'),
      ])
      .where('key', 'in', [...keys])
      .where(isReserved)
      .where(
        sql<boolean>`(reserved_until <= ${q.now} or not ${takesWork(q, sql.ref('conversations.reserved_for'), goneMs)})`,
      )
      .orderBy('key');
    const locked = yield* rows(q.kind === 'postgres' ? over.forNoKeyUpdate().skipLocked() : over);
    if (locked.length === 0) return 0;
    const atLimit = yield* usersAtLimit(q, locked, userRunsMax);
    const goesOn = ({ user_id, isLate }: (typeof locked)[number]) =>
      Number(isLate) === 1 && atLimit.has(user_id);
    const kept = locked.filter(goesOn);
    const ending = locked.filter((one) => !goesOn(one));
    const update = (some: readonly Reserved[]) =>
      q.build.updateTable('conversations').where(
        'key',
        'in',
        some.map(({ key }) => key),
      );
    if (kept.length > 0)
      yield* rows(update(kept).set({ reserved_until: sql<number>`${q.now} + ${restorableWaitMs}` }));
    if (ending.length > 0) yield* rows(update(ending).set({ reserved_for: '' }));
    return ending.length;
  },
);

export const reservationTransactions = [findEndedReservations, endReservations];

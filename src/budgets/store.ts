// Adds up what users spend, and reserves what open model requests may cost, so that all processes together keep within a
// budget. A reservation counts as long as its run has its conversation; that of a dead process ends with the lease.
import { sql } from 'kysely';
import { recordAudit } from '../audit/store.ts';
import { readNow } from '../db/clock.ts';
import { one, type Queries, read, repeatableWrite, rows, type Steps } from '../db/transaction.ts';
import { nanosMax } from '../models/money.ts';
import { type BudgetColumns, type BudgetLimits, describeBudget, limitsOf } from './limits.ts';
import { type BudgetPeriod, budgetPeriods, dayMs, periodsAt } from './period.ts';

function compiled<Row>(q: Queries, query: ReturnType<typeof sql<Row>>) {
  return { compile: () => query.compile(q.build) };
}

/** Adds to what the user has spent today. Nothing is stored of a user whose data was deleted. */
export function* addSpending(q: Queries, userId: number, costNanos: number): Steps<void> {
  const least = sql.raw(q.kind === 'sqlite' ? 'min' : 'least');
  const added = Math.min(costNanos, nanosMax);
  yield* rows(
    compiled(
      q,
      sql`insert into spending (user_id, day, cost_nanos)
        select id, ${q.now} / ${sql.lit(dayMs)}, cast(${added} as bigint) from users
        where id = ${userId} and purging_at is null
        on conflict (user_id, day) do update
        set cost_nanos = ${least}(spending.cost_nanos + excluded.cost_nanos, ${sql.lit(nanosMax)})`,
    ),
  );
}

/** Spending is kept for 13 months, longer than any budget needs it. */
export const spendingKeptDays = 400;

/** Deletes some of the spending that is too old to be kept. Returns how many rows. */
export const pruneSpending = repeatableWrite('budgets.prune', function* (q, max: number): Steps<number> {
  const before = sql`${q.now} / ${sql.lit(dayMs)} - ${sql.lit(spendingKeptDays)}`;
  const old = sql`select user_id, day from spending where day < ${before} limit ${max}`;
  const pruned = sql<{ day: number }>`delete from spending where (user_id, day) in (${old}) returning day`;
  return (yield* rows(compiled(q, pruned))).length;
});

export function* releaseReservations(q: Queries, ids: readonly string[]): Steps<void> {
  if (ids.length > 0) yield* rows(q.build.deleteFrom('budget_reservations').where('id', 'in', [...ids]));
}

export interface SpentRow extends BudgetColumns {
  /** When this was read, by the database's clock. */
  readonly at: number;
  readonly day_nanos: number;
  readonly month_nanos: number;
}

/** The columns of `SpentRow`, for queries of users. */
export function spentColumns(q: Queries, at: number) {
  const { day, month } = periodsAt(at);
  const since = (first: number) =>
    sql<number>`(select coalesce(sum(cost_nanos), 0) from spending
      where spending.user_id = users.id and spending.day >= ${first})`;
  return [
    sql<number>`cast(${at} as ${sql.raw(q.kind === 'sqlite' ? 'integer' : 'bigint')})`.as('at'),
    since(day.firstDay).as('day_nanos'),
    since(month.firstDay).as('month_nanos'),
  ] as const;
}

function selectSpent(q: Queries, userId: number, at: number) {
  return q.build
    .selectFrom('users')
    .select(['budget_day_nanos', 'budget_month_nanos'])
    .select([...spentColumns(q, at)])
    .where('id', '=', userId);
}

export const findSpent = read('budgets.findSpent', function* (q, userId: number): Steps<
  SpentRow | undefined
> {
  return yield* one(selectSpent(q, userId, yield* readNow(q)));
});

export const findBudget = read('budgets.find', function* (q, userId: number): Steps<
  BudgetColumns | undefined
> {
  return yield* one(
    q.build.selectFrom('users').select(['budget_day_nanos', 'budget_month_nanos']).where('id', '=', userId),
  );
});

export interface Reservation {
  readonly id: string;
  readonly userId: number;
  readonly conversationKey: number;
  readonly runId: string;
  /** What the request may cost. */
  readonly costNanos: number;
  /** The budget of users who have none of their own. */
  readonly ofAll: BudgetLimits;
}

export type ReservationOutcome =
  | { readonly outcome: 'reserved' }
  /** Other open requests may use up the rest. */
  | { readonly outcome: 'held' }
  | { readonly outcome: 'reached'; readonly period: BudgetPeriod; readonly spent: SpentRow };

/** Deletes reservations of the user whose run has ended. Returns the sum of the others, except for this one. */
function* sumReserved(q: Queries, userId: number, id: string): Steps<number> {
  yield* rows(
    compiled(
      q,
      sql`delete from budget_reservations where user_id = ${userId} and not exists (
        select key from conversations where conversations.key = budget_reservations.conversation_key
          and conversations.run_id = budget_reservations.run_id)`,
    ),
  );
  const found = yield* one(
    q.build
      .selectFrom('budget_reservations')
      .select((e) => e.fn.coalesce(e.fn.sum<number>('cost_nanos'), sql<number>`0`).as('sum'))
      .where('user_id', '=', userId)
      .where('id', '<>', id),
  );
  return Number(found?.sum ?? 0);
}

interface Rest {
  /** What this reservation may hold: the rest of the budget without the other reservations. */
  readonly leftNanos: number;
  /** What the others hold. */
  readonly reservedNanos: number;
  readonly reached: BudgetPeriod | undefined;
  readonly spent: SpentRow;
}

/** Locks the reservations of the user, so that they are changed one after another. Undefined if there is no such user. */
function* lockRest(
  q: Queries,
  { id, userId, ofAll }: Pick<Reservation, 'id' | 'userId' | 'ofAll'>,
): Steps<Rest | undefined> {
  const at = yield* readNow(q);
  yield* rows(
    q.build
      .updateTable('users')
      .set((e) => ({ name: e.ref('name') }))
      .where('id', '=', userId),
  );
  // Read before what was spent: a cost that is stored in between counts twice rather than not at all.
  const reservedNanos = yield* sumReserved(q, userId, id);
  const spent = yield* one(selectSpent(q, userId, at));
  if (spent === undefined) return undefined;
  const limits = limitsOf(spent, ofAll);
  const spentIn = { day: Number(spent.day_nanos), month: Number(spent.month_nanos) };
  let leftNanos = nanosMax;
  let reached: BudgetPeriod | undefined;
  for (const period of budgetPeriods) {
    const max = limits[period];
    if (max === null) continue;
    if (spentIn[period] >= max) reached ??= period;
    leftNanos = Math.min(leftNanos, max - spentIn[period] - reservedNanos);
  }
  return { leftNanos, reservedNanos, reached, spent };
}

/** If no other request is open, one may exceed the rest of the budget: its cost is only an estimate. */
export const reserveBudget = repeatableWrite(
  'budgets.reserve',
  function* (q, input: Reservation): Steps<ReservationOutcome> {
    const { id, userId, conversationKey, runId, costNanos } = input;
    const rest = yield* lockRest(q, input);
    if (rest === undefined) return { outcome: 'held' };
    const { leftNanos, reservedNanos, reached, spent } = rest;
    if (reached !== undefined) return { outcome: 'reached', period: reached, spent };
    if (reservedNanos > 0 && costNanos > leftNanos) return { outcome: 'held' };
    const row = { id, user_id: userId, conversation_key: conversationKey, run_id: runId };
    yield* rows(
      q.build
        .insertInto('budget_reservations')
        .values({ ...row, cost_nanos: Math.min(costNanos, nanosMax) })
        .onConflict((c) => c.column('id').doNothing()),
    );
    return { outcome: 'reserved' };
  },
);

interface Raise extends Pick<Reservation, 'id' | 'userId' | 'ofAll'> {
  /** What the answer has cost so far. */
  readonly leastNanos: number;
  /** What it should hold, if so much is left. */
  readonly mostNanos: number;
}

/** Returns what the reservation holds now. Undefined if the rest of the budget is less than the answer has cost so far. */
export const raiseReservation = repeatableWrite('budgets.raise', function* (q, input: Raise): Steps<
  number | undefined
> {
  const { id, leastNanos, mostNanos } = input;
  const rest = yield* lockRest(q, input);
  if (rest === undefined || leastNanos > rest.leftNanos) return undefined;
  const cost_nanos = Math.min(mostNanos, rest.leftNanos);
  const raised = yield* one(
    q.build
      .updateTable('budget_reservations')
      .set({ cost_nanos })
      .where('id', '=', id)
      .returning('cost_nanos'),
  );
  return raised && Number(raised.cost_nanos);
});

interface NewBudget extends Partial<BudgetColumns> {
  readonly userId: number;
  /** The id of the caller's key, for the audit log. */
  readonly by: string;
}

/** Absent fields stay unchanged. */
export function* setBudgetSteps(q: Queries, input: NewBudget): Steps<void> {
  const { userId, by, ...columns } = input;
  yield* rows(q.build.updateTable('users').set(columns).where('id', '=', userId));
  const subject = describeBudget(columns);
  yield* recordAudit(q, [{ userId, keyId: by, action: 'user.budget', subject }]);
}

export const budgetTransactions = [findSpent, findBudget, reserveBudget, raiseReservation, pruneSpending];

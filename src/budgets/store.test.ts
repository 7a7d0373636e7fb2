import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { countRows, inspect } from '../../test/support/inspect.ts';
import { updateAccount } from '../accounts/changeStore.ts';
import { createConversation } from '../conversations/create/store.ts';
import { claimConversation } from '../conversations/run/claimStore.ts';
import { addUsage } from '../conversations/usage/store.ts';
import { openConfiguredDatabase } from '../database.ts';
import type { Database, DatabaseKind } from '../db/transaction.ts';
import { ensureUser } from '../users/store.ts';
import type { BudgetColumns, BudgetLimits } from './limits.ts';
import { dayMs, periodsAt } from './period.ts';
import { findSpent, pruneSpending, raiseReservation, reserveBudget, spendingKeptDays } from './store.ts';

const noTokens = {
  model_requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
};

async function open(kind: DatabaseKind, t: TestContext, ofAll: BudgetLimits) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  await database.run(createConversation, newConversation(userId, 'a'));
  const claim = { runId: 'run', owner: 'here', leaseMs: 60_000, userRunsMax: 0 };
  const claimed = await database.run(claimConversation, claim);
  const key = claimed?.key ?? 0;
  let ids = 0;
  const reserve = (costNanos: number, id = `r${++ids}`, at: Database = database) =>
    at.run(reserveBudget, { id, userId, conversationKey: key, runId: 'run', costNanos, ofAll });
  const raise = (id: string, leastNanos: number, mostNanos: number) =>
    database.run(raiseReservation, { id, userId, ofAll, leastNanos, mostNanos });
  const outcome = async (costNanos: number) => (await reserve(costNanos)).outcome;
  const spend = (cost_nanos: number, released: readonly string[] = []) =>
    database.run(addUsage, { key, userId, released, ...noTokens, cost_nanos });
  const setBudget = (budget: Partial<BudgetColumns>) =>
    database.run(updateAccount, { name: 'ada', by: 'k', budget });
  return { database, userId, reserve, raise, outcome, spend, setBudget };
}

const today = () => periodsAt(Date.now()).day.firstDay;

/** A test that fails because midnight in UTC has passed meanwhile runs again. */
function itInOneDay(title: string, test: (t: TestContext) => Promise<void>): void {
  it(title, async (t) => {
    const began = today();
    try {
      await test(t);
    } catch (error) {
      if (today() === began) throw error;
      await test(t);
    }
  });
}

for (const kind of databaseKinds)
  describe(`the budget of a user on ${kind}`, () => {
    itInOneDay('lets requests reserve what is left, and one exceed it if no other is open', async (t) => {
      const { reserve, outcome, spend } = await open(kind, t, { day: 100, month: null });
      assert.equal(await outcome(60), 'reserved');
      assert.equal(await outcome(60), 'held');
      assert.equal(await outcome(40), 'reserved');
      await spend(70, ['r1', 'r3']);
      assert.equal(await outcome(60), 'reserved');
      await spend(60, ['r4']);
      const reached = await reserve(1);
      assert.equal(reached.outcome === 'reached' && reached.period, 'day');
    });

    itInOneDay('raises a reservation by what the others and the spending leave', async (t) => {
      const { database, reserve, raise, spend } = await open(kind, t, { day: 100, month: null });
      await reserve(20, 'one');
      await reserve(20, 'two');
      assert.deepEqual([await raise('one', 30, 60), await raise('one', 30, 60)], [60, 60]);
      assert.equal(await raise('two', 30, 60), 40);
      assert.equal(await raise('two', 41, 60), undefined);
      assert.equal(await raise('one', 61, 70), undefined);
      const sum = 'select sum(cost_nanos) as sum from budget_reservations';
      assert.equal(Number((await inspect(database, sum))[0]?.['sum']), 100);
      await spend(25, ['two']);
      assert.deepEqual([await raise('one', 61, 90), await raise('one', 76, 90)], [75, undefined]);
      assert.equal(await raise('two', 1, 2), undefined);
    });

    itInOneDay('returns the same for a reservation that is repeated', async (t) => {
      const { database, reserve } = await open(kind, t, { day: 100, month: null });
      assert.deepEqual(await reserve(80, 'same'), await reserve(80, 'same'));
      assert.equal(await countRows(database, 'budget_reservations'), 1);
    });

    itInOneDay('forgets reservations of a run that has lost its conversation', async (t) => {
      const { database, outcome } = await open(kind, t, { day: 100, month: null });
      assert.equal(await outcome(90), 'reserved');
      assert.equal(await outcome(90), 'held');
      await inspect(database, "update conversations set run_id = 'another'");
      assert.equal(await outcome(90), 'reserved');
    });

    itInOneDay('counts what was spent today, and in the whole month', async (t) => {
      const { database, userId, outcome, spend } = await open(kind, t, { day: 100, month: 150 });
      const { day, month } = periodsAt(Date.now());
      await spend(40);
      await inspect(database, `update spending set day = ${month.firstDay - 1}`);
      assert.equal(await outcome(1), 'reserved');
      await spend(120);
      const spent = await database.run(findSpent, userId);
      assert.deepEqual([Number(spent?.day_nanos), Number(spent?.month_nanos)], [120, 120]);
      const stopped = await database.run(findSpent, userId);
      assert.ok(Math.abs(Number(stopped?.at) - Date.now()) < dayMs);
      assert.equal(await outcome(1), 'reached');
      if (day.firstDay === month.firstDay) return;
      await inspect(database, `update spending set day = ${day.firstDay - 1} where day = ${day.firstDay}`);
      await inspect(database, 'delete from budget_reservations');
      assert.equal(await outcome(1), 'reserved');
      await spend(30);
      assert.equal(await outcome(1), 'reached');
    });

    itInOneDay('can be another one for a single user, or none', async (t) => {
      const { database, setBudget, outcome, spend } = await open(kind, t, { day: 100, month: 100 });
      await spend(100);
      assert.equal(await outcome(1), 'reached');
      await setBudget({ budget_day_nanos: 0, budget_month_nanos: 0 });
      assert.equal(await outcome(1e9), 'reserved');
      await setBudget({ budget_day_nanos: 101 });
      await inspect(database, 'delete from budget_reservations');
      assert.equal(await outcome(1), 'reserved');
      await setBudget({ budget_day_nanos: null });
      assert.equal(await outcome(1), 'reached');
    });

    itInOneDay('is not exceeded by requests at the same time, of several processes', async (t) => {
      const { database, reserve } = await open(kind, t, { day: 100, month: null });
      const databases: Database[] = [database];
      if (kind === 'postgres') {
        const other = await openConfiguredDatabase(database, (error) => assert.fail(error));
        t.after(() => other.close());
        databases.push(other);
      }
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) => reserve(25, `c${i}`, databases[i % databases.length])),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'reserved').length, 4);
      assert.equal(await countRows(database, 'budget_reservations'), 4);
    });

    itInOneDay('is not counted for a user whose data is being deleted', async (t) => {
      const { database, spend } = await open(kind, t, { day: 100, month: null });
      await inspect(database, 'update users set purging_at = 1');
      await spend(40);
      assert.equal(await countRows(database, 'spending'), 0);
    });

    itInOneDay('forgets what was spent more than 13 months ago, some rows at a time', async (t) => {
      const { database, userId, spend } = await open(kind, t, { day: 100, month: null });
      await spend(40);
      const last = today() - spendingKeptDays;
      for (const day of [last - 3, last - 2, last - 1, last])
        await inspect(
          database,
          `insert into spending (user_id, day, cost_nanos) values (${userId}, ${day}, 7)`,
        );
      assert.deepEqual([await database.run(pruneSpending, 2), await database.run(pruneSpending, 2)], [2, 1]);
      assert.equal(await database.run(pruneSpending, 2), 0);
      const kept = await inspect(database, 'select day from spending order by day');
      assert.deepEqual(
        kept.map(({ day }) => Number(day)),
        [last, today()],
      );
    });

    itInOneDay('is never more than a number can hold', async (t) => {
      const { database, userId, spend } = await open(kind, t, { day: 100, month: null });
      for (const cost of [1e300, Number.MAX_VALUE, 1e15]) await spend(cost);
      assert.equal(Number((await database.run(findSpent, userId))?.day_nanos), 1e15);
    });
  });

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { countRows } from '../../../test/support/inspect.ts';
import { until } from '../../../test/support/until.ts';
import { raiseReservation, reserveBudget } from '../../budgets/store.ts';
import { createConversation } from '../../conversations/create/store.ts';
import { claimConversation } from '../../conversations/run/claimStore.ts';
import { addUsage } from '../../conversations/usage/store.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { createIds } from '../../process/ids.ts';
import { repeatable } from '../../process/repeat.ts';
import { ensureUser } from '../../users/store.ts';
import { createUserBudget } from './userBudget.ts';

const noUsage = {
  model_requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_nanos: 0,
};

/** Runs of one user with 100 nanodollars a day. A test changes `run` to watch or to break the database. */
async function open(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  await database.run(createConversation, newConversation(userId, 'a'));
  const claim = { runId: 'run', owner: 'here', leaseMs: 60_000, userRunsMax: 0 };
  const conversation = (await database.run(claimConversation, claim)) ?? assert.fail();
  const seen = { run: database.run, beforeStore: async () => {} };
  const nextId = createIds();

  function openRun(waitForOthers: () => Promise<void> = async () => {}) {
    const stores = repeatable(async () => {
      const released = budget.takeReleasable();
      if (released.length === 0) return;
      await seen.beforeStore();
      await database.run(addUsage, { key: conversation.key, userId, released, ...noUsage });
    }, assert.fail);
    const budget = createUserBudget({
      database: { ...database, run: (transaction, input) => seen.run(transaction, input) },
      conversation,
      runId: 'run',
      ofAll: { day: 100, month: null },
      nextId,
      onReached: () => assert.fail('the budget is not used up'),
      store: stores.run,
      onBackgroundError: assert.fail,
      waitForOthers,
    });
    return { ...budget, stored: stores.run };
  }

  /** Nothing is released before a request was refused. */
  function releaseAfterRefusal(): void {
    const refused = Promise.withResolvers<void>();
    // Late, so that a request that only repeats its question is refused again.
    seen.beforeStore = () => refused.promise.then(() => wait(50));
    seen.run = async (transaction, input) => {
      const result = await database.run(transaction, input);
      const isHeld = (result as { outcome?: string } | undefined)?.outcome === 'held';
      if (isHeld || (transaction.name === raiseReservation.name && result === undefined)) refused.resolve();
      return result;
    };
  }
  return { database, seen, openRun, releaseAfterRefusal };
}

for (const kind of databaseKinds)
  describe(`a request within a budget on ${kind}`, () => {
    for (const who of ['the same run', 'another run'])
      it(`gets what an ended request of ${who} did not spend`, async (t) => {
        const { openRun, releaseAfterRefusal } = await open(kind, t);
        const other = openRun();
        const run = openRun(() => other.stored());
        const ended = async () =>
          (await (who === 'another run' ? other : run).reserve(60)) ?? assert.fail('there is a budget');
        const first = await ended();
        releaseAfterRefusal();
        first.release();
        const growing = (await run.reserve(40 + 1)) ?? assert.fail('there is a budget');
        growing.release();
        await run.stored();
        const answer = (await run.reserve(20)) ?? assert.fail('there is a budget');
        const second = await ended();
        releaseAfterRefusal();
        second.release();
        assert.equal(await answer.covers(90), true);
      });

    it('keeps nothing reserved if nobody knows whether its reservation was stored', async (t) => {
      const { database, seen, openRun } = await open(kind, t);
      const run = openRun();
      seen.run = async (transaction, input) => {
        const result = await database.run(transaction, input);
        if (transaction.name === reserveBudget.name) throw new Error('the connection was lost');
        return result;
      };
      await assert.rejects(run.reserve(60), { status: 503 });
      await until('it is released', async () => (await countRows(database, 'budget_reservations')) === 0);
      seen.run = database.run;
      assert.ok(await run.reserve(60));
      assert.equal(await countRows(database, 'budget_reservations'), 1);
    });
  });

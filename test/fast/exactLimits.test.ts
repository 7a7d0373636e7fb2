// Limits that hold exactly, however many processes create, start and claim conversations at the same moment.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createConversation } from '../../src/conversations/create/store.ts';
import { startConversation, stopConversation } from '../../src/conversations/lifecycle/store.ts';
import { claimConversation } from '../../src/conversations/run/claimStore.ts';
import { stopReason } from '../../src/conversations/states.ts';
import { openConfiguredDatabase } from '../../src/database.ts';
import type { AnyTransaction, Database, DatabaseKind } from '../../src/db/transaction.ts';
import { ensureUser } from '../../src/users/store.ts';
import { newConversation, someTime } from '../support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';

const waitingMax = 20;
const userRunsMax = 7;
const users = ['ada', 'bob', 'eve'] as const;

/** The connections of two processes to one PostgreSQL; SQLite has one process. */
async function openProcesses(kind: DatabaseKind, t: TestContext) {
  const storage = await openTestDatabase(kind, t);
  const processes: Database[] = [storage];
  if (kind === 'postgres') {
    const second = await openConfiguredDatabase(storage, (error) => assert.fail(error));
    t.after(second.close);
    processes.push(second);
  }
  const userIds = await Promise.all(users.map(async (name) => (await storage.run(ensureUser, name)).id));
  /** Runs call `n` in one process or the other. */
  const run = (n: number, transaction: AnyTransaction, input: unknown) =>
    (processes[n % processes.length] as Database).run(transaction, input);
  const count = async (condition: string) => {
    const rows = await inspect(
      storage,
      `select user_id, cast(count(*) as integer) as count from conversations where ${condition} group by user_id`,
    );
    return rows.map((row) => Number(row['count']));
  };
  return { run, userIds, count };
}

const isWaiting = "run_id is null and status <> 'STOPPED'";
const often = (times: number, call: (n: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: times }, (_, n) => call(n)));
const outcomes = (results: readonly unknown[], outcome: string) =>
  results.filter((result) => (result as { outcome?: string }).outcome === outcome).length;

for (const kind of databaseKinds) {
  describe(`the limits of each user on ${kind}, at the same moment in every process`, () => {
    for (const [how, more] of [
      ['in sets', {}],
      // A patch does not fit into a set.
      ['one by one', { patch: 'cGF0Y2g=' }],
    ] as const)
      it(`accept exactly as many creations as may wait, ${how}, and the others change nothing`, async (t) => {
        const { run, userIds, count } = await openProcesses(kind, t);
        const results = await often(waitingMax * 2 * users.length, (n) => {
          const userId = userIds[Math.floor(n / 2) % userIds.length] as number;
          return run(n, createConversation, newConversation(userId, `c${n}`, { waitingMax, ...more }));
        });
        assert.deepEqual(await count(isWaiting), [waitingMax, waitingMax, waitingMax]);
        assert.equal(outcomes(results, 'created'), waitingMax * users.length);
        assert.equal(outcomes(results, 'too_many_waiting'), waitingMax * users.length);
      });

    it('accept exactly as many starts and creations together', async (t) => {
      const { run, userIds, count } = await openProcesses(kind, t);
      const [userId = 0] = userIds;
      for (let n = 0; n < waitingMax; n++) {
        const name = { userId, id: `stopped${n}` };
        await run(0, createConversation, newConversation(userId, name.id));
        await run(0, stopConversation, { ...name, reason: stopReason('user'), events: [], at: someTime });
      }
      await often(waitingMax * 2, (n) =>
        n % 4 < 2
          ? run(n, createConversation, newConversation(userId, `c${n}`, { waitingMax }))
          : run(n, startConversation, {
              ...{ userId, id: `stopped${Math.floor(n / 2)}`, waitingMax, at: someTime },
              ...{ message: [], waking: [] },
            }),
      );
      assert.deepEqual(await count(isWaiting), [waitingMax]);
    });

    it('give exactly as many runs to claims, while others are created', async (t) => {
      const { run, userIds, count } = await openProcesses(kind, t);
      await often(waitingMax * users.length, (n) => {
        const userId = userIds[n % userIds.length] as number;
        return run(n, createConversation, newConversation(userId, `c${n}`));
      });
      const owner = 'here';
      const claim = (n: number) =>
        run(n, claimConversation, { runId: `r${n}`, owner, leaseMs: 60_000, userRunsMax });
      const claims = often(userRunsMax * users.length * 2, claim);
      await often(waitingMax, (n) =>
        run(n, createConversation, newConversation(userIds[0] ?? 0, `later${n}`, { waitingMax: 1_000 })),
      );
      await claims;
      // A claim that had to make way for others is repeated, as workers do.
      for (let n = 1_000; (await claim(n)) !== undefined; n++);
      assert.deepEqual(await count('run_id is not null'), [userRunsMax, userRunsMax, userRunsMax]);
    });
  });
}

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startRuns } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { createConversation } from '../conversations/create/store.ts';
import { stopReason } from '../conversations/states.ts';
import { eventText, notice } from '../events/shapes.ts';
import { createIds } from '../process/ids.ts';
import { ensureUser } from '../users/store.ts';
import type { RunAgent } from './claimedRun.ts';
import { createWorker } from './worker.ts';

const drainMax = 30_000;
/** Who has most has them first: nobody else may have to wait for that. */
const shares = { ada: 80, bob: 40, cyd: 40, dan: 40 };
const total = Object.values(shares).reduce((sum, count) => sum + count, 0);
const slots = 10;
const userRunsMax = 4;
const workMs = 20;

/** Counts runs by user, and notes in what order they end. */
function createCounter() {
  const running = new Map<number, number>();
  const ended: number[] = [];
  let most = 0;
  let mostOfUser = 0;
  const add = (userId: number, change: 1 | -1) => running.set(userId, (running.get(userId) ?? 0) + change);
  const runAgent: RunAgent = async ({ conversation: { user_id: userId }, record }) => {
    add(userId, 1);
    most = Math.max(
      most,
      [...running.values()].reduce((sum, count) => sum + count, 0),
    );
    mostOfUser = Math.max(mostOfUser, ...running.values());
    await record({ to: 'RUNNING', events: [eventText(notice('It works.'), new Date().toISOString())] });
    await pause(workMs);
    await record({ to: 'STOPPED', reason: stopReason('finished') });
    add(userId, -1);
    ended.push(userId);
  };
  return { runAgent, ended, peak: () => ({ most, mostOfUser }) };
}

async function setUp(kind: (typeof databaseKinds)[number], t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const users: number[] = [];
  for (const [name, count] of Object.entries(shares)) {
    const { id } = await database.run(ensureUser, name);
    users.push(id);
    const all = Array.from({ length: count }, (_, i) => newConversation(id, `${name}-${i}`));
    await Promise.all(all.map((one) => database.run(createConversation, one)));
  }
  const work = (runAgent: RunAgent, count: number) =>
    createWorker({
      database,
      runAgent,
      owner: 'test',
      nextId: createIds(),
      slots: count,
      userRunsMax,
      onBackgroundError: (error) => {
        throw error;
      },
    });
  return { database, users, work };
}

for (const kind of databaseKinds) {
  describe(`many conversations on ${kind}`, { timeout: 240_000 }, () => {
    it('drain through few slots of two workers, fairly, and none is left', async (t) => {
      const { database, users, work } = await setUp(kind, t);
      const { runAgent, ended, peak } = createCounter();
      const workers = [work(runAgent, slots / 2), work(runAgent, slots / 2)];
      try {
        await until('all are done', () => ended.length === total, drainMax);
      } finally {
        await Promise.all(workers.map((worker) => worker.close()));
      }
      const { most, mostOfUser } = peak();
      assert.ok(most <= slots, `${most} at once`);
      assert.ok(mostOfUser <= userRunsMax, `${mostOfUser} of one user at once`);
      const half = ended.slice(0, total / 2);
      const fairShare = half.length / users.length;
      for (const user of users) {
        const count = half.filter((id) => id === user).length;
        assert.ok(Math.abs(count - fairShare) <= fairShare / 2, `${count} of ${half.length}`);
      }
      const rows = await inspect(
        database,
        'select status, stop_code, run_id, cast(count(*) as integer) as count from conversations group by 1, 2, 3',
      );
      assert.deepEqual(
        rows.map((row) => ({ ...row })),
        [{ status: 'STOPPED', stop_code: 'finished', run_id: null, count: total }],
      );
    });

    it('of one user drain with real agents, no more at once than it may have', async (t) => {
      const runningMax = 3;
      const { service, create, reaches } = await startRuns(
        { kind, env: { PARLEY_RUNNING_MAX: String(runningMax) } },
        t,
      );
      const ids: string[] = [];
      for (let i = 0; i < 10; i++) ids.push(await create('say done\ncrash'));
      const counts: number[] = [];
      await until(
        'all have stopped',
        async () => {
          const [row] = await inspect(
            service.storage,
            `select cast(count(run_id) as integer) as running,
               cast(sum(case when status = 'STOPPED' then 1 else 0 end) as integer) as stopped
             from conversations`,
          );
          counts.push(Number(row?.['running']));
          return row?.['stopped'] === ids.length;
        },
        drainMax,
      );
      assert.equal(Math.max(...counts), runningMax);
      for (const id of ids) assert.equal((await reaches(id, 'STOPPED')).stop_reason?.code, 'agent_error');
    });
  });
}

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import type { Database, DatabaseKind } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { createConversation } from '../create/store.ts';
import { startConversation, stopConversation } from '../lifecycle/store.ts';
import { stopReason } from '../states.ts';
import { releaseExpired } from '../sweep/store.ts';
import { claimConversation } from './claimStore.ts';
import { findActive, recordRun, releaseRun, renewRun } from './store.ts';

const leaseMs = 60_000;
const times = {
  startStalledMs: 0,
  startMs: 0,
  idleMs: 0,
  crowdedIdleMs: 0,
  crowdedWaitMs: 0,
  crowdedAskingMs: 0,
};

async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const users = new Map<string, number>();
  for (const name of ['ada', 'bob']) users.set(name, (await database.run(ensureUser, name)).id);
  const userId = (name: string) => users.get(name) ?? 0;
  const create = async (name: string, id: string) => {
    const made = await database.run(createConversation, newConversation(userId(name), id));
    assert.equal(made.outcome, 'created');
  };
  let count = 0;
  const claim = (userRunsMax = 0, ms = leaseMs) =>
    database.run(claimConversation, { runId: `run-${++count}`, owner: 'here', leaseMs: ms, userRunsMax });
  return { database, userId, create, claim };
}

async function runIdOf(database: Database & Parameters<typeof inspect>[0], id: string) {
  const [row] = await inspect(database, `select run_id from conversations where id = '${id}'`);
  return String(row?.['run_id']);
}

for (const kind of databaseKinds) {
  describe(`runs on ${kind}`, () => {
    it('takes turns between users, and the oldest of each first', async (t) => {
      const { create, claim } = await setUp(kind, t);
      for (const id of ['a1', 'a2', 'a3']) await create('ada', id);
      for (const id of ['b1', 'b2']) await create('bob', id);
      const order = [];
      for (let taken = await claim(); taken !== undefined; taken = await claim()) order.push(taken.id);
      assert.deepEqual(order, ['a1', 'b1', 'a2', 'b2', 'a3']);
    });

    it('finds the conversations that have a run or will have one', async (t) => {
      const { database, userId, create, claim } = await setUp(kind, t);
      const ids = ['running', 'stopping', 'waiting', 'stopped', 'gone'];
      for (const id of ids) await create('ada', id);
      const keyOf = async (id: string) => {
        const [row] = await inspect(database, `select key from conversations where id = '${id}'`);
        return Number(row?.['key']);
      };
      const keys = await Promise.all(ids.map(keyOf));
      const stop = (id: string) =>
        database.run(stopConversation, {
          ...{ userId: userId('ada'), id, at },
          ...{ reason: stopReason('user'), events: [] },
        });
      await claim();
      const taken = await claim();
      assert.equal(taken?.id, 'stopping');
      await stop('stopping');
      await stop('stopped');
      await inspect(database, "delete from conversations where id = 'gone'");
      const active = await database.run(findActive, keys);
      assert.deepEqual(
        active.sort((a, b) => a - b),
        keys.slice(0, 3),
      );
      assert.deepEqual(await database.run(findActive, []), []);
    });

    it('gives one user no more runs than allowed, however many claim at once', async (t) => {
      const { create, claim } = await setUp(kind, t);
      for (let i = 0; i < 6; i++) await create('ada', `a${i}`);
      const taken = await Promise.all(Array.from({ length: 6 }, () => claim(2)));
      assert.equal(taken.filter((one) => one !== undefined).length, 2);
      assert.equal(await claim(2), undefined);
    });

    it('gives each conversation to one run, however many claim at once', async (t) => {
      const { create, claim } = await setUp(kind, t);
      for (let i = 0; i < 5; i++) await create('ada', `a${i}`);
      let taken: (string | undefined)[] = [];
      while (taken.filter((id) => id !== undefined).length < 5)
        taken = [
          ...taken,
          ...(await Promise.all(Array.from({ length: 8 }, () => claim()))).map((c) => c?.id),
        ];
      const ids = taken.filter((id) => id !== undefined);
      assert.deepEqual(ids.toSorted(), ['a0', 'a1', 'a2', 'a3', 'a4']);
    });

    it('records what a run does, and moves the state', async (t) => {
      const { database, create, claim } = await setUp(kind, t);
      await create('ada', 'a1');
      const taken = await claim();
      assert.ok(taken !== undefined);
      const run = { key: taken.key, runId: await runIdOf(database, 'a1') };
      let step = 0;
      const record = async (more: object) =>
        (await database.run(recordRun, { ...run, step: ++step, events: [], at, ...more })) !== undefined;
      assert.equal(await record({ runtimeStatus: 'STATUS$CLONING', events: ['{"n":1}'] }), true);
      assert.equal(await record({ to: 'RUNNING', events: ['{"n":2}'] }), true);
      assert.equal(
        await record({ to: 'STOPPED', reason: stopReason('finished'), events: ['{"n":3}'] }),
        true,
      );
      assert.equal(await record({ events: ['{"n":4}'] }), false);
      const [row] = await inspect(database, 'select status, stop_code, next_event from conversations');
      assert.deepEqual(
        { ...row, next_event: Number(row?.['next_event']) },
        {
          status: 'STOPPED',
          stop_code: 'finished',
          next_event: 4,
        },
      );
      assert.equal(await claim(), undefined);
    });

    it('records a step once, and returns the same id where it is sent again', async (t) => {
      const { database, userId, create, claim } = await setUp(kind, t);
      await create('ada', 'a1');
      const taken = await claim();
      assert.ok(taken !== undefined);
      const run = { key: taken.key, runId: await runIdOf(database, 'a1'), at };
      const plain = { ...run, step: 1, events: ['{"n":1}'] };
      for (let sent = 0; sent < 2; sent++) assert.equal(await database.run(recordRun, plain), 1);
      const question = { ...run, step: 2, events: ['{"n":2}', '{"n":3}'], approvalRequestIndex: 1 };
      for (let sent = 0; sent < 2; sent++) assert.equal(await database.run(recordRun, question), 2);
      const [row] = await inspect(database, 'select next_event, question from conversations');
      assert.deepEqual([Number(row?.['next_event']), Number(row?.['question'])], [4, 3]);
      // Also after its user has stopped it: the step is in the log.
      const name = { userId: userId('ada'), id: 'a1', at };
      await database.run(stopConversation, { ...name, reason: stopReason('user'), events: ['{"n":4}'] });
      assert.equal(await database.run(recordRun, question), 2);
      assert.equal(await database.run(recordRun, { ...run, step: 3, events: ['{"n":5}'] }), undefined);
    });

    it('gives an observation the id of the action in the same step as its cause', async (t) => {
      const { database, create, claim } = await setUp(kind, t);
      await create('ada', 'a1');
      const taken = await claim();
      assert.ok(taken !== undefined);
      const run = { key: taken.key, runId: await runIdOf(database, 'a1'), at };
      const others = Array.from({ length: 120 }, (_, n) => `{"n":${n}}`);
      const events = ['{"n":1}', '{"n":2}', { text: '{"n":3}', answers: 1 }, ...others];
      const last = { text: '{"n":4}', answers: 2 };
      for (let sent = 0; sent < 2; sent++)
        assert.equal(await database.run(recordRun, { ...run, step: 1, events: [...events, last] }), 1);
      const stored = await inspect(
        database,
        "select json from event_log where json like '%cause%' order by id",
      );
      assert.deepEqual(
        stored.map(({ json }) => String(json)),
        ['{"id":3,"cause":2,"n":3}', '{"id":124,"cause":3,"n":4}'],
      );
    });

    it('fences off a run that lost its conversation to another', async (t) => {
      const { database, create, claim } = await setUp(kind, t);
      await create('ada', 'a1');
      const first = await claim(0, -1);
      assert.ok(first !== undefined);
      const old = { key: first.key, runId: await runIdOf(database, 'a1') };
      assert.equal(await database.run(releaseExpired, { key: first.key, times, at }), first.user_id);
      assert.equal((await claim())?.id, 'a1');
      assert.equal(await database.run(renewRun, { ...old, leaseMs }), 'lost');
      assert.equal(await database.run(recordRun, { ...old, step: 1, events: ['{}'], at }), undefined);
      assert.equal(await database.run(releaseRun, { ...old, at }), false);
      assert.notEqual(await runIdOf(database, 'a1'), 'null');
    });

    it('tells a run to end when its conversation is stopped, and lets no other in before it has', async (t) => {
      const { database, userId, create, claim } = await setUp(kind, t);
      await create('ada', 'a1');
      const taken = await claim();
      assert.ok(taken !== undefined);
      const run = { key: taken.key, runId: await runIdOf(database, 'a1') };
      assert.equal(await database.run(renewRun, { ...run, leaseMs }), 'kept');
      const name = { userId: userId('ada'), id: 'a1', at };
      await database.run(stopConversation, { ...name, reason: stopReason('user'), events: [] });
      assert.equal(await database.run(renewRun, { ...run, leaseMs }), 'stop');
      assert.equal(await database.run(recordRun, { ...run, step: 1, events: ['{}'], at }), undefined);
      await database.run(startConversation, { ...name, message: [], waking: [], waitingMax: 0 });
      assert.equal(await claim(), undefined);
      assert.equal(await database.run(releaseRun, { ...run, at }), true);
      assert.equal((await claim())?.id, 'a1');
    });
  });
}

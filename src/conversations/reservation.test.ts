import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { workTopic } from '../db/topics.ts';
import type { DatabaseKind } from '../db/transaction.ts';
import { registerNode, removeNode } from '../nodes/store.ts';
import { ensureUser } from '../users/store.ts';
import { createConversation } from './create/store.ts';
import { startConversation, stopConversation } from './lifecycle/store.ts';
import { onlyCopyWaitMs, restorableWaitMs } from './reservation.ts';
import { claimConversation } from './run/claimStore.ts';
import { releaseRun } from './run/store.ts';
import { stopReason } from './states.ts';
import { adjustRuns } from './sweep/clockStore.ts';
import { findRoom } from './sweep/roomStore.ts';
import { createSweep, defaultTimes } from './sweep/service.ts';
import { releaseExpired } from './sweep/store.ts';

const hourMs = 60 * 60_000;

/** The machines are called `a` and `b`; each has a worker with the name of its machine. */
async function setUp(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  /** The worker counts as alive for an hour, however slow the test is. */
  async function beat(node: string, { processId = node, takesWork = true } = {}): Promise<void> {
    const url = `http://${node}:1`;
    await database.run(registerNode, { processId, nodeId: node, url, serves: true, takesWork });
    await age(node, -hourMs);
  }
  const clock =
    kind === 'postgres'
      ? 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'
      : "cast(unixepoch('subsec') * 1000 as integer)";
  const age = (node: string, ms: number) =>
    inspect(database, `update nodes set seen_at = ${clock} - ${ms} where node_id = '${node}'`);
  await beat('a');
  await beat('b');
  let runs = 0;
  const claim = async (nodeId: string, userRunsMax = 0) => {
    const runId = `run-${++runs}`;
    const claimed = await database.run(claimConversation, {
      ...{ runId, owner: nodeId, nodeId, leaseMs: 60_000, userRunsMax },
    });
    return claimed && { key: claimed.key, id: claimed.id, runId };
  };
  const change = (id: string, set: string) =>
    inspect(database, `update conversations set ${set} where id = '${id}'`);
  const name = (id: string) => ({ userId, id, at });
  /** Creates a conversation that waits and has no files anywhere. */
  const create = (id: string) => database.run(createConversation, newConversation(userId, id));
  /** Creates a stopped conversation whose files are on the machine. */
  async function createStopped(id: string, node: string): Promise<void> {
    await create(id);
    await database.run(stopConversation, { ...name(id), reason: stopReason('user'), events: [] });
    await change(id, `workspace_node = '${node}'`);
  }
  const start = (id: string) =>
    database.run(startConversation, { ...name(id), message: [], waking: [], waitingMax: 0 });
  const storeSnapshot = (id: string) =>
    inspect(
      database,
      `insert into snapshots (id, conversation_key, user_id, conversation_id, sealed, blob, taken_at, created_at)
       select 's-' || id, key, user_id, id, '', 'blob', 0, 0 from conversations where id = '${id}'`,
    );
  async function sweep(userRunsMax = 0): Promise<void> {
    const one = createSweep({
      ...{ database, isFull: () => false, userRunsMax, times: defaultTimes },
      onBackgroundError: assert.ifError,
    });
    await one.sweep();
    await one.close();
  }
  /** How long the reservation lasts from the last change of the conversation on. */
  async function reservedMs(id: string): Promise<number> {
    const [row] = await inspect(
      database,
      `select reserved_until - updated_at as ms from conversations where id = '${id}' and reserved_for <> ''`,
    );
    return Math.round(Number(row?.['ms']) / 100) * 100;
  }
  return {
    ...{ database, userId, beat, claim, change, create, createStopped, start, storeSnapshot },
    ...{ age, sweep, reservedMs },
  };
}

for (const kind of databaseKinds) {
  describe(`a conversation that starts again on ${kind}`, () => {
    it('is left to the machine that has its files, also if others have free slots', async (t) => {
      const { createStopped, start, claim } = await setUp(kind, t);
      await createStopped('here', 'a');
      await start('here');
      assert.equal(await claim('b'), undefined);
      assert.equal((await claim('a'))?.id, 'here');
    });

    it('is taken by any machine if its own has no worker that was just seen and takes work', async (t) => {
      const { createStopped, start, claim, age, beat, database } = await setUp(kind, t);
      const cases = [
        () => age('a', 5_000),
        () => beat('a', { takesWork: false }),
        () => database.run(removeNode, 'a'),
      ];
      for (const [i, happen] of cases.entries()) {
        await beat('a');
        await createStopped(`c${i}`, 'a');
        await happen();
        await start(`c${i}`);
        assert.equal((await claim('b'))?.id, `c${i}`);
      }
    });

    it('waits for any worker of its machine', async (t) => {
      const { createStopped, start, claim, age, beat } = await setUp(kind, t);
      await age('a', 60_000);
      await beat('a', { processId: 'second' });
      await createStopped('here', 'a');
      await start('here');
      assert.equal(await claim('b'), undefined);
    });

    it('is taken by any machine after a bound, which is longer if no snapshot exists', async (t) => {
      const { createStopped, start, storeSnapshot, claim, change, reservedMs, sweep, database } = await setUp(
        kind,
        t,
      );
      for (const id of ['stored', 'only']) await createStopped(id, 'a');
      await storeSnapshot('stored');
      await start('stored');
      assert.equal(await reservedMs('stored'), restorableWaitMs);
      await change('stored', "status = 'STOPPED'");
      await start('only');
      assert.equal(await reservedMs('only'), onlyCopyWaitMs);
      const notified: string[] = [];
      database.onNotification((topics) => notified.push(...topics));
      await sweep();
      assert.deepEqual([await claim('b'), notified], [undefined, []]);
      await change('only', `reserved_until = reserved_until - ${onlyCopyWaitMs}`);
      await sweep();
      assert.deepEqual(notified, [workTopic]);
      assert.equal((await claim('b'))?.id, 'only');
    });

    it('is no longer left to a machine that stops or dies meanwhile', async (t) => {
      const { createStopped, start, claim, sweep, beat, age } = await setUp(kind, t);
      for (const id of ['one', 'two']) await createStopped(id, 'a');
      await start('one');
      await beat('a', { takesWork: false });
      await sweep();
      assert.equal((await claim('b'))?.id, 'one');
      await beat('a');
      await start('two');
      await sweep();
      assert.equal(await claim('b'), undefined);
      await age('a', 20_000);
      await sweep();
      assert.equal((await claim('b'))?.id, 'two');
    });

    it('is still left to its machine when its user was at the limit for longer than the bound', async (t) => {
      const { create, createStopped, start, claim, change, sweep, database } = await setUp(kind, t);
      await createStopped('here', 'a');
      await create('other');
      const other = await claim('b');
      await start('here');
      await change('here', 'reserved_until = 0');
      await sweep(1);
      await inspect(database, "update conversations set status = 'STOPPED' where id = 'other'");
      await database.run(releaseRun, { key: other?.key ?? 0, runId: other?.runId ?? '', at });
      assert.equal(await claim('b', 1), undefined);
      assert.equal((await claim('a', 1))?.id, 'here');
    });

    it('is taken in the order of the keys with those that any machine may take', async (t) => {
      const { create, createStopped, start, claim } = await setUp(kind, t);
      await create('c1');
      await createStopped('c2', 'a');
      await create('c3');
      await createStopped('c4', 'b');
      for (const id of ['c2', 'c4']) await start(id);
      const ids = [];
      for (const node of ['a', 'a', 'a', 'a', 'b']) ids.push((await claim(node))?.id);
      assert.deepEqual(ids, ['c1', 'c2', 'c3', undefined, 'c4']);
    });

    it('does not wait longer because the clock was set back', async (t) => {
      const { createStopped, start, storeSnapshot, change, reservedMs, database } = await setUp(kind, t);
      await createStopped('stored', 'a');
      await storeSnapshot('stored');
      await start('stored');
      await change(
        'stored',
        `updated_at = updated_at + ${hourMs}, reserved_until = reserved_until + ${hourMs}`,
      );
      await database.run(adjustRuns, { all: true });
      assert.ok((await reservedMs('stored')) < hourMs);
    });
  });

  describe(`a conversation whose run ends on ${kind}`, () => {
    /** A conversation that runs on `a` and is to go on. */
    async function running(t: TestContext) {
      const prepared = await setUp(kind, t);
      await prepared.create('here');
      const run = await prepared.claim('a');
      assert.ok(run !== undefined);
      await prepared.change('here', "status = 'RUNNING', workspace_node = 'a'");
      return { ...prepared, run: { key: run.key, runId: run.runId, at } };
    }

    it('goes on on its machine, unless that is stopping', async (t) => {
      const { database, run, claim, beat } = await running(t);
      await database.run(releaseRun, run);
      assert.equal(await claim('b'), undefined);
      const again = await claim('a');
      await beat('a', { takesWork: false });
      await database.run(releaseRun, { ...run, runId: again?.runId ?? '' });
      assert.equal((await claim('b'))?.id, 'here');
    });

    it('is taken over at once after its machine was killed, and by another process there if there is one', async (t) => {
      const { database, run, claim, change, age, beat } = await running(t);
      // What is known of a killed process when its lease ends: the last heartbeat is at least six seconds old.
      await age('a', 6_000);
      await change('here', 'lease_until = 1');
      await database.run(releaseExpired, { key: run.key, times: defaultTimes, at });
      assert.equal((await claim('b'))?.id, 'here');
      await change('here', 'lease_until = 1');
      await beat('a', { processId: 'second' });
      await database.run(releaseExpired, { key: run.key, times: defaultTimes, at });
      assert.equal(await claim('b'), undefined);
      assert.equal((await claim('a'))?.id, 'here');
    });
  });

  describe(`room for a reserved conversation on ${kind}`, () => {
    it('is made on its machine, by a process there, and nowhere else', async (t) => {
      const { database, create, createStopped, start, claim, change } = await setUp(kind, t);
      for (const node of ['b', 'a']) {
        await create(`idle ${node}`);
        await claim(node);
        await change(`idle ${node}`, `status = 'RUNNING', workspace_node = '${node}', active_at = 1`);
      }
      await createStopped('here', 'a');
      await start('here');
      const times = { ...defaultTimes, crowdedWaitMs: 0 };
      const roomAt = async (nodeId: string, isFull = true, userRunsMax = 0) => {
        const keys = await database.run(findRoom, { times, max: 10, isFull, userRunsMax, nodeId });
        const stored = await inspect(database, 'select key, id from conversations');
        return keys.map((key) => stored.find((row) => Number(row['key']) === key)?.['id']);
      };
      assert.deepEqual(await roomAt('b'), []);
      assert.deepEqual(await roomAt('a'), ['idle a']);
      assert.deepEqual(await roomAt('a', false), []);
      // At the limit of its user, the end of any run helps.
      assert.equal((await roomAt('a', false, 2)).length, 1);
      // A user without any run gets a slot of that machine, too.
      const { id: bob } = await database.run(ensureUser, 'bob');
      await change('here', `user_id = ${bob}`);
      assert.deepEqual(await roomAt('b'), []);
      assert.deepEqual(await roomAt('a'), ['idle a']);
      await change('idle a', "wanted = 'stop'");
      assert.deepEqual(await roomAt('a'), []);
    });
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { openVault } from '../encryption/vault.ts';
import { ensureUser } from '../users/store.ts';
import { createSettings } from './service.ts';
import { storeSettings } from './store.ts';
import { createWriteQueue, writesWaitingMax } from './writeQueue.ts';

const far = () => performance.now() + 60_000;

describe('the queue of writes', () => {
  it('runs those of one user one after another, in order, and those of others beside them', async () => {
    const queue = createWriteQueue();
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    const first = queue.run(1, far(), async () => {
      await gate.promise;
      done.push('first');
    });
    const more = ['second', 'third'].map((name) => queue.run(1, far(), async () => void done.push(name)));
    await queue.run(2, far(), async () => void done.push('of another user'));
    gate.resolve();
    await Promise.all([first, ...more]);
    assert.deepEqual(done, ['of another user', 'first', 'second', 'third']);
  });

  it('goes on after one that fails', async () => {
    const queue = createWriteQueue();
    const failing = queue.run(1, far(), async () => {
      throw new Error('no');
    });
    const next = queue.run(1, far(), async () => 'next');
    await assert.rejects(failing, { message: 'no' });
    assert.equal(await next, 'next');
    assert.equal(await queue.run(1, far(), async () => 'later'), 'later');
  });

  it('refuses one more than may wait, and does not run one whose time is over', async () => {
    const queue = createWriteQueue();
    const gate = Promise.withResolvers<void>();
    const all = [queue.run(1, far(), () => gate.promise)];
    let isRun = false;
    const late = queue.run(1, performance.now() + 20, async () => {
      isRun = true;
    });
    for (let i = 1; i < writesWaitingMax; i++) all.push(queue.run(1, far(), async () => {}));
    await assert.rejects(
      queue.run(1, far(), async () => {}),
      { code: 'overloaded', retryAfterS: 1 },
    );
    await assert.rejects(late, { code: 'overloaded', retryAfterS: 1 });
    // Its place is free again.
    all.push(queue.run(1, far(), async () => {}));
    gate.resolve();
    await Promise.all(all);
    assert.equal(isRun, false);
  });
});

for (const kind of databaseKinds)
  describe(`settings on ${kind}`, () => {
    it('take every one of many writes at once, each computed once', async (t) => {
      const database = await openTestDatabase(kind, t);
      const vault = await openVault({ database, dataDir: database.dataDir, secretKeys: [] });
      const { id: userId } = await database.run(ensureUser, 'ada');
      let stores = 0;
      const settings = createSettings({
        database: {
          ...database,
          run: (transaction, ...rest) => {
            if (transaction.name === storeSettings.name) stores += 1;
            return database.run(transaction, ...rest);
          },
        },
        vault,
        agentNames: () => [],
      });
      const writes = 60;
      await Promise.all(
        Array.from({ length: writes }, (_, i) =>
          settings.update({ userId, keyId: 'k' }, 'patch', { llm_model: `m-${i}` }),
        ),
      );
      const [row] = await inspect(database, 'select version from settings');
      assert.deepEqual([Number(row?.['version']), stores], [writes, writes]);
      assert.equal((await settings.read(userId)).llm_model, `m-${writes - 1}`);
    });

    it('do not store what comes after its deadline, and store its neighbours', async (t) => {
      const database = await openTestDatabase(kind, t);
      const userIds: number[] = [];
      for (const name of ['ada', 'bob', 'eve']) userIds.push((await database.run(ensureUser, name)).id);
      const [, late = 0] = userIds;
      const outcomes = await Promise.allSettled(
        userIds.map((userId) =>
          database.run(
            storeSettings,
            { userId, expectedVersion: 0, document: '{}', secrets: [], audit: [] },
            { deadline: performance.now() + (userId === late ? -10 : 60_000) },
          ),
        ),
      );
      assert.deepEqual(
        outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.code)),
        ['stored', 'overloaded', 'stored'],
      );
      const rows = await inspect(database, 'select user_id from settings order by user_id');
      assert.deepEqual(
        rows.map((row) => Number(row['user_id'])),
        userIds.filter((userId) => userId !== late),
      );
    });
  });

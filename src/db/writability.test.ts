import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { AppError } from '../errors.ts';
import { ensureUser, hasOneUser } from '../users/store.ts';
import type { Database, Transaction } from './transaction.ts';
import { tryWrite, watchWrites } from './writability.ts';

/** The database, which can be made to fail as on a full disk or without a network, and a clock that the test moves. */
function watch(database: Database) {
  const state = { full: false, noRoom: false, away: false, trials: 0, ms: 0 };
  const broken = {
    ...database,
    run: <In, Out>(transaction: Transaction<In, Out>, input: In): Promise<Out> => {
      if (transaction.name === tryWrite.name) state.trials += 1;
      const isLarge = transaction.name === tryWrite.name && input !== 0;
      if (state.away || (state.full && transaction.access === 'write') || (state.noRoom && isLarge))
        return Promise.reject(new AppError('database_unavailable', 'The disk is full.'));
      return database.run(transaction, input);
    },
  };
  return { state, ...watchWrites(broken, () => state.ms) };
}

const refused = { code: 'database_unavailable' };

for (const kind of databaseKinds) {
  describe(`whether a database on ${kind} stores`, () => {
    it('is found out by a write of its own where nobody wrote lately, at most once in five seconds', async (t) => {
      const { state, checkWritable } = watch(await openTestDatabase(kind, t));
      for (let i = 0; i < 5; i++) await checkWritable();
      // One trial is two writes: one that needs room, and one that gives it back.
      assert.equal(state.trials, 2);
      state.ms += 4_999;
      await checkWritable();
      assert.equal(state.trials, 2);
      state.ms += 1;
      await Promise.all([checkWritable(), checkWritable()]);
      assert.equal(state.trials, 4);
    });

    it('is known from the writes of others', async (t) => {
      const { state, database, checkWritable } = watch(await openTestDatabase(kind, t));
      await database.run(ensureUser, 'ada');
      await checkWritable();
      assert.equal(state.trials, 0);
      state.full = true;
      await checkWritable();
      await assert.rejects(database.run(ensureUser, 'bob'), refused);
      await assert.rejects(checkWritable(), refused);
      await database.run(hasOneUser, null);
      await assert.rejects(checkWritable(), refused);
      assert.equal(state.trials, 0);
    });

    it('is doubted after a failure until a large write succeeds, though small ones do', async (t) => {
      const { state, database, checkWritable } = watch(await openTestDatabase(kind, t));
      state.noRoom = true;
      await assert.rejects(checkWritable(), refused);
      await database.run(ensureUser, 'ada');
      await assert.rejects(checkWritable(), refused);
      state.noRoom = false;
      await database.run(ensureUser, 'bob');
      await checkWritable();
    });

    it('is doubted once a read fails', async (t) => {
      const { state, database, checkWritable } = watch(await openTestDatabase(kind, t));
      await checkWritable();
      state.away = true;
      await assert.rejects(database.run(hasOneUser, null), refused);
      await assert.rejects(checkWritable(), refused);
    });

    it('is tried again each second while it does not, and shows when it does', async (t) => {
      const { state, checkWritable } = watch(await openTestDatabase(kind, t));
      state.full = true;
      for (let i = 0; i < 3; i++) await assert.rejects(checkWritable(), refused);
      assert.equal(state.trials, 1);
      state.ms += 1_000;
      await assert.rejects(checkWritable(), refused);
      assert.equal(state.trials, 2);
      state.full = false;
      await assert.rejects(checkWritable(), refused);
      state.ms += 1_000;
      await checkWritable();
      await checkWritable();
    });
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import type { Database } from '../db/transaction.ts';
import { ensureUser } from '../users/store.ts';
import { createAccounts } from './service.ts';

const options = { onChange: () => {}, removedDays: 30, budgetOfAll: { day: null, month: null } };

for (const kind of databaseKinds)
  describe(`a change of a user on ${kind}`, () => {
    it('sets the state and the budget together, or neither', async (t) => {
      const database = await openTestDatabase(kind, t);
      for (const name of ['owner', 'ada']) await database.run(ensureUser, name);
      let writes = 0;
      /** Fails after the first transaction that changes something. */
      const run: Database['run'] = async (transaction, input) => {
        if (transaction.access === 'write' && ++writes > 1) throw new Error('the database is away');
        return database.run(transaction, input);
      };
      const failing = createAccounts({ ...options, database: { ...database, run } });
      const change = { disabled: true, budget_day_usd: 5 };
      await failing.update('k', 'ada', change).catch(() => {});
      const accounts = createAccounts({ ...options, database });
      const changed = await accounts.get('ada');
      assert.deepEqual([changed.state, changed.budget_day_usd], ['disabled', 5]);
      await accounts.remove('k', 'ada');
      const refused = accounts.update('k', 'ada', { disabled: false, budget_day_usd: 7 });
      await assert.rejects(refused, { code: 'user_inactive' });
      assert.equal((await accounts.get('ada')).budget_day_usd, 5);
    });
  });

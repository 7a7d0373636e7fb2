import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { createConversation } from '../../conversations/create/store.ts';
import type { Database } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { createInbox } from './inbox.ts';

const events = ['{"source":"user","action":"message","args":{}}', '{"source":"agent"}'];

for (const kind of databaseKinds) {
  describe(`the inbox of a run on ${kind}`, () => {
    it('continues after the database has failed, and repeats nothing', async (t) => {
      const real = await openTestDatabase(kind, t);
      const { id: userId } = await real.run(ensureUser, 'ada');
      const made = await real.run(createConversation, newConversation(userId, 'a1', { events }));
      assert.ok(made.outcome === 'created');
      let failing = true;
      const database: Database = {
        ...real,
        run: (transaction, input) =>
          failing ? Promise.reject(new Error('it is away')) : real.run(transaction, input),
      };
      const heard: number[] = [];
      const inbox = createInbox({ database, key: made.key, from: 0, onEvent: ({ id }) => heard.push(id) });
      await assert.rejects(inbox.readNew(2), /it is away/);
      failing = false;
      await inbox.readNew(2);
      await inbox.readNew(2);
      assert.deepEqual(heard, [0]);
      assert.equal(inbox.cursor(), 2);
    });
  });
}

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { createConversation } from '../create/store.ts';
import { findConversation, listConversations } from '../list/store.ts';
import { claimConversation } from '../run/claimStore.ts';
import { type UsageColumns, usageColumns, usageMax } from './shape.ts';
import { addUsage, findUsage } from './store.ts';

const allOf = (value: number) =>
  Object.fromEntries(usageColumns.map((name) => [name, value])) as unknown as UsageColumns;

async function openConversation(kind: DatabaseKind, t: TestContext) {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, 'ada');
  await database.run(createConversation, newConversation(userId, 'a'));
  const name = { userId, id: 'a' };
  const key = (await database.run(findConversation, name))?.key ?? 0;
  const add = (value: number) => database.run(addUsage, { key, userId, ...allOf(value) });
  return { database, name, add };
}

for (const kind of databaseKinds)
  describe(`usage on ${kind}`, () => {
    it('is added up', async (t) => {
      const { database, name, add } = await openConversation(kind, t);
      await add(3);
      await add(4);
      assert.deepEqual({ ...(await database.run(findUsage, name)) }, allOf(7));
    });

    it('is never more than a number can hold, whatever is added', async (t) => {
      const { database, name, add } = await openConversation(kind, t);
      for (const value of [2 ** 53, 1e300, Number.MAX_VALUE, usageMax]) await add(value);
      assert.deepEqual({ ...(await database.run(findUsage, name)) }, allOf(usageMax));
      const [stored] = await inspect(database, 'select cast(cost_nanos as text) as cost from conversations');
      assert.equal(parseFloat(String(stored?.['cost'])), usageMax);
    });

    for (const poison of kind === 'sqlite'
      ? ['9007199254740993', '1e300']
      : ['9007199254740993', '9223372036854775807'])
      it(`does not stop whoever reads a row that holds ${poison}`, async (t) => {
        const { database, name, add } = await openConversation(kind, t);
        await inspect(
          database,
          `update conversations set ${usageColumns.map((column) => `${column} = ${poison}`).join()}`,
        );
        assert.deepEqual({ ...(await database.run(findUsage, name)) }, allOf(usageMax));
        assert.equal((await database.run(findConversation, name))?.cost_nanos, usageMax);
        const look = {
          userId: name.userId,
          repository: null,
          trigger: null,
          status: null,
          clientFolder: null,
          pinned: null,
          archived: null,
          unread: null,
          words: null,
        };
        const window = { ...look, after: null, max: 10, scannedMax: 10 };
        assert.equal((await database.run(listConversations, window)).rows[0]?.input_tokens, usageMax);
        assert.equal(
          (await database.run(listConversations, { ...window, words: 'a' })).rows[0]?.input_tokens,
          usageMax,
        );
        const claim = { runId: 'run', owner: 'here', leaseMs: 60_000, userRunsMax: 0 };
        assert.equal((await database.run(claimConversation, claim))?.cost_nanos, usageMax);
        await add(5);
        assert.equal((await database.run(findUsage, name))?.cost_nanos, usageMax);
      });
  });

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { someTime as at, newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { until } from '../../test/support/until.ts';
import { createConversation } from '../conversations/create/store.ts';
import { changeConversation } from '../conversations/lifecycle/store.ts';
import { claimConversation } from '../conversations/run/claimStore.ts';
import { releaseRun } from '../conversations/run/store.ts';
import type { Database, DatabaseKind } from '../db/transaction.ts';
import { ensureUser } from '../users/store.ts';
import { createTitles } from './titles.ts';

async function setUp(kind: DatabaseKind, t: TestContext) {
  const opened = await openTestDatabase(kind, t);
  const { id: userId } = await opened.run(ensureUser, 'ada');
  const name = { userId, id: 'a1' };
  await opened.run(createConversation, { ...newConversation(userId, name.id), title: 'Conversation a1' });
  const runId = 'run-1';
  const conversation = await opened.run(claimConversation, {
    runId,
    owner: 'here',
    leaseMs: 60_000,
    userRunsMax: 0,
  });
  assert.ok(conversation);
  let begun = 0;
  let ended = 0;
  const run: Database['run'] = (...given) => {
    begun += 1;
    return opened.run(...given).finally(() => (ended += 1));
  };
  const database: Database = { ...opened, run, notify: (topics) => opened.notify(topics) };
  const onError = (error: Error) => assert.fail(error);
  const titles = createTitles({ database, conversation, runId, mask: (text) => text, onError });
  const find = (title: string) => titles.addUpdate({ sessionUpdate: 'session_info_update', title });
  const settled = () => until('all are given', () => begun > 0 && begun === ended);
  const stored = async () => String((await inspect(opened, 'select title from conversations'))[0]?.['title']);
  return { opened, name, find, settled, stored, count: () => begun, run: { key: conversation.key, runId } };
}

for (const kind of databaseKinds)
  describe(`titles that an agent suggests, on ${kind}`, () => {
    it('are stored one at a time, the newest of many last', async (t) => {
      const { find, settled, stored, count } = await setUp(kind, t);
      for (let i = 0; i < 10_000; i++) find(`title ${i}`);
      assert.equal(count(), 1);
      await until('the newest is given', async () => (await stored()) === 'title 9999');
      await settled();
      assert.equal(count(), 2);
    });

    it('are limited per run', async (t) => {
      const { find, settled, stored, count } = await setUp(kind, t);
      for (let i = 1; i <= 22; i++) {
        find(`title ${i}`);
        await settled();
      }
      assert.equal(await stored(), 'title 20');
      assert.equal(count(), 20);
    });

    it('never replace one that a person has set', async (t) => {
      const { opened, name, find, settled, stored } = await setUp(kind, t);
      find('found');
      await until('it is given', async () => (await stored()) === 'found');
      await opened.run(changeConversation, { ...name, title: 'Mine', at });
      find('better');
      await settled();
      assert.equal(await stored(), 'Mine');
    });

    it('change nothing once the run has lost its conversation', async (t) => {
      const { opened, run, find, settled, stored } = await setUp(kind, t);
      await opened.run(releaseRun, { ...run, at: new Date().toISOString() });
      find('late');
      await settled();
      assert.equal(await stored(), 'Conversation a1');
    });
  });

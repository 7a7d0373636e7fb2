import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase, withPostgres } from '../../../test/support/databases.ts';
import { countRows, inspect } from '../../../test/support/inspect.ts';
import { until } from '../../../test/support/until.ts';
import { createConversation } from '../../conversations/create/store.ts';
import { changeConversation } from '../../conversations/lifecycle/store.ts';
import type { DatabaseKind } from '../../db/transaction.ts';
import { ensureUser } from '../../users/store.ts';
import { createChangePurge } from './service.ts';
import {
  type ChangePosition,
  newestPosition,
  purgeChanges,
  readChanges,
  type StoredChange,
} from './store.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const at = '2026-01-31T12:00:00.000Z';

function titlesOf(changes: readonly StoredChange[]): string[] {
  return changes.map(({ json }) => JSON.parse(json).title);
}

async function openChanges(kind: DatabaseKind, t: TestContext, user = 'ada') {
  const database = await openTestDatabase(kind, t);
  const { id: userId } = await database.run(ensureUser, user);
  await database.run(createConversation, newConversation(userId, 'one', { title: 'created' }));
  const start: ChangePosition = { at: 0, transaction: '0', id: 0 };

  return {
    database,
    userId,
    start,
    /** Creates a change for each title. */
    change: async (...titles: string[]) => {
      for (const title of titles) await database.run(changeConversation, { userId, id: 'one', title, at });
    },
    read: (position: ChangePosition, max = 100) => database.run(readChanges, { userId, position, max }),
    titles: async (position: ChangePosition, max = 100): Promise<string[]> =>
      titlesOf(await database.run(readChanges, { userId, position, max })),
    /** Waits until these can be read. On PostgreSQL, older transactions of the server delay that. */
    expect: async (position: ChangePosition, expected: readonly string[], max = 100): Promise<void> => {
      const found = await until('the changes', async () => {
        const changes = await database.run(readChanges, { userId, position, max });
        return changes.length >= expected.length && changes;
      });
      assert.deepEqual(titlesOf(found), expected);
    },
  };
}

const beginning = { at: 0, transaction: '0', id: 0 };

/** On SQLite, the number of a change follows from its time, too. */
function aged(kind: DatabaseKind, ms: number): string {
  return kind === 'sqlite' ? `at = at - ${ms}, id = id - ${ms}` : `at = at - ${ms}`;
}

for (const kind of databaseKinds) {
  describe(`the changes of a user on ${kind}`, () => {
    it('are read in order from any position, in bounded batches', async (t) => {
      const { start, change, read, expect } = await openChanges(kind, t);
      await change('a', 'b', 'c');
      await expect(start, ['created', 'a', 'b', 'c']);
      await expect(start, ['created', 'a'], 2);
      for (const [i, position] of (await read(start)).entries())
        await expect(position, ['created', 'a', 'b', 'c'].slice(i + 1));
    });

    it('after the newest position are only those that follow it', async (t) => {
      const { database, userId, start, change, titles, expect } = await openChanges(kind, t);
      await change('before');
      await expect(start, ['created', 'before']);
      const position = await database.run(newestPosition, userId);
      assert.deepEqual(await titles(position), []);
      await change('after');
      await expect(position, ['after']);
    });

    it('belong to that user only', async (t) => {
      const { database, start, change } = await openChanges(kind, t);
      await change('secret');
      const { id: userId } = await database.run(ensureUser, 'eve');
      assert.deepEqual(await database.run(readChanges, { userId, position: start, max: 100 }), []);
      assert.equal(await database.run(purgeChanges, { userId, ageMs: -dayMs, max: 100 }), 0);
      assert.equal(await countRows(database, 'changes'), 2);
    });

    it('are purged oldest first, and newer ones stay', async (t) => {
      const { database, userId, change, expect } = await openChanges(kind, t);
      await change('a', 'b', 'young');
      await inspect(database, `update changes set ${aged(kind, 8 * dayMs)} where json not like '%young%'`);
      const purge = (max: number) => database.run(purgeChanges, { userId, ageMs: 7 * dayMs, max });
      assert.equal(await purge(2), 2);
      await expect(beginning, ['b', 'young']);
      assert.deepEqual([await purge(2), await purge(2)], [1, 0]);
      await expect(beginning, ['young']);
    });

    it('are purged for every user, after a week', async (t) => {
      const { database, change } = await openChanges(kind, t);
      await change('old', 'young');
      const { id: other } = await database.run(ensureUser, 'bob');
      await inspect(database, `update changes set user_id = ${other} where json like '%created%'`);
      const week = aged(kind, 7 * dayMs + 60_000);
      await inspect(database, `update changes set ${week} where json not like '%young%'`);
      const purge = createChangePurge({ database, onBackgroundError: assert.ifError });
      t.after(async () => purge.close());
      await purge.purge();
      assert.equal(await countRows(database, 'changes'), 1);
    });

    it('have numbers that are never reused, even after all were purged', async (t) => {
      const { database, userId, start, change, read, expect } = await openChanges(kind, t);
      await change('a', 'b');
      await expect(start, ['created', 'a', 'b']);
      const last = (await read(start)).at(-1) as ChangePosition;
      // On SQLite, numbers follow the clock, which is ahead of them after a week.
      await until('the clock is ahead', () => Date.now() > last.id);
      assert.equal(await database.run(purgeChanges, { userId, ageMs: -dayMs, max: 100 }), 3);
      await change('c');
      await expect(last, ['c']);
    });
  });
}

describe('the changes of a user on PostgreSQL', () => {
  const insert = (userId: number, title: string, transaction = 'default') =>
    `insert into changes (user_id, transaction, at, json)
     values (${userId}, ${transaction}, 0, '{"title":"${title}"}')`;

  it('are not skipped if a transaction that began earlier commits later', async (t) => {
    const { database, userId, start, change, read, titles, expect } = await openChanges('postgres', t);
    await expect(start, ['created']);
    const last = (await read(start)).at(-1) as ChangePosition;
    const meanwhile = await withPostgres(String(database.databaseUrl), async (early) => {
      await early.query('begin');
      await early.query(insert(userId, 'early'));
      await change('late');
      // The later change must wait, because a subscriber that had received it would never read the earlier one.
      assert.deepEqual(await titles(last), []);
      const position = await database.run(newestPosition, userId);
      await early.query('commit');
      return position;
    });
    for (const position of [last, meanwhile]) await expect(position, ['early', 'late']);
  });

  it('do not wait for a transaction that was rolled back', async (t) => {
    const { database, userId, start, change, expect } = await openChanges('postgres', t);
    await withPostgres(String(database.databaseUrl), async (early) => {
      await early.query('begin');
      await early.query(insert(userId, 'undone'));
      await change('late');
      await early.query('rollback');
    });
    await expect(start, ['created', 'late']);
  });

  it('are ordered by their transactions as numbers, not as text', async (t) => {
    const { database, userId, start, expect } = await openChanges('postgres', t);
    for (const transaction of ['9', '10', '99', '100'])
      await inspect(database, insert(userId, transaction, `'${transaction}'::xid8`));
    await expect(start, ['9', '10', '99', '100', 'created']);
    await expect(start, ['9', '10'], 2);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newConversation } from '../../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../../test/support/databases.ts';
import { inspect } from '../../../test/support/inspect.ts';
import { ensureUser } from '../../users/store.ts';
import { createConversation } from '../create/store.ts';
import { type ListQuery, listConversations } from './store.ts';

for (const kind of databaseKinds) {
  describe(`a look at a list on ${kind}`, () => {
    it('ends after so many rows, and the next one goes on where it ended', async (t) => {
      const database = await openTestDatabase(kind, t);
      const { id: userId } = await database.run(ensureUser, 'ada');
      const create = (i: number) =>
        database.run(
          createConversation,
          newConversation(
            userId,
            `c${i}`,
            i % 3 === 0
              ? { title: 'Third', repository: 'acme/shop', clientFolder: '/home/me/shop' }
              : { title: 'other' },
          ),
        );
      for (let i = 0; i < 14; i++) await create(i);
      // Some of the same moment, so that the place needs more than the time.
      await inspect(database, "update conversations set created_at = 1 where id < 'c2'");

      const all = {
        userId,
        repository: null,
        trigger: null,
        status: null,
        clientFolder: null,
        pinned: null,
        archived: null,
        unread: null,
        words: null,
      };
      const expected = await database.run(listConversations, {
        ...all,
        after: null,
        max: 100,
        scannedMax: 100,
      });
      const thirds = expected.rows.filter(({ title }) => title === 'Third').map(({ id }) => id);
      assert.equal(thirds.length, 5);

      const filters: readonly Partial<ListQuery>[] = [
        { words: 'third' },
        { repository: 'acme/shop' },
        { clientFolder: '/home/me/shop' },
        { words: 'third', repository: 'acme/shop', trigger: 'gui', status: 'STARTING' },
      ];
      for (const filter of filters)
        for (const scannedMax of [1, 2, 3, 7, 13, 14, 15]) {
          const seen: string[] = [];
          let after: ListQuery['after'] = null;
          let looks = 0;
          do {
            const look: ListQuery = { ...all, ...filter, after, max: 100, scannedMax };
            const { rows, end } = await database.run(listConversations, look);
            assert.ok(rows.length <= scannedMax);
            seen.push(...rows.map(({ id }) => id));
            after = end;
            looks += 1;
          } while (after !== null);
          assert.deepEqual(seen, thirds, JSON.stringify({ ...filter, scannedMax }));
          assert.equal(looks, Math.floor(14 / scannedMax) + 1);
        }
    });
  });
}

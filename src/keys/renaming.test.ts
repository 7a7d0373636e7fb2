// Keys that are created while their user is renamed.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { databaseKinds, openTestDatabase, withPostgres } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { openKeys } from '../../test/support/keys.ts';
import { until } from '../../test/support/until.ts';
import { ensureUser } from '../users/store.ts';
import { sessionScopes } from './schema.ts';

type TestDatabase = Awaited<ReturnType<typeof openTestDatabase>>;

/** Creates a key as a user who was called ada when the request began. */
async function createAsAda(database: TestDatabase, t: TestContext) {
  const { id: userId } = await database.run(ensureUser, 'ada');
  const keys = await openKeys(database, Date.now, t);
  const principal = {
    userId,
    userName: 'ada',
    keyId: 'k',
    keyName: 'k',
    via: 'session',
    scopes: new Set(sessionScopes),
    expiresAt: Number.POSITIVE_INFINITY,
    acceptsBearer: false,
  } as const;
  return { userId, create: () => keys.create(principal, { name: 'laptop' }) };
}

const namesIn = async (database: TestDatabase) =>
  (await inspect(database, "select name from users where name <> 'owner' order by id")).map(
    ({ name }) => name,
  );

for (const kind of databaseKinds)
  describe(`a key of a user who was renamed, on ${kind}`, () => {
    it('belongs to that user, and creates none of the old name', async (t) => {
      const database = await openTestDatabase(kind, t);
      const { create } = await createAsAda(database, t);
      await inspect(database, "update users set name = 'grace' where name = 'ada'");
      assert.equal((await create()).user, 'grace');
      assert.deepEqual(await namesIn(database), ['grace']);
    });
  });

describe('a key that is created during a renaming, on postgres', () => {
  it('belongs to the renamed user, who keeps the new name', async (t) => {
    const database = await openTestDatabase('postgres', t);
    const { userId, create } = await createAsAda(database, t);
    const created = await withPostgres(database.databaseUrl ?? assert.fail(), async (client) => {
      await client.query('begin');
      await client.query("update users set name = 'grace' where id = $1", [userId]);
      const creating = create();
      const waiting =
        "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      await until('the creation waits', async () => (await inspect(database, waiting)).length > 0);
      await client.query('commit');
      return creating;
    });
    assert.equal(created.user, 'grace');
    assert.deepEqual(await namesIn(database), ['grace']);
  });
});

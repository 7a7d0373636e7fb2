import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pg from 'pg';
import { newConversation } from '../../test/support/conversations.ts';
import { createStorage, openTestDatabase, postgresUrl, withPostgres } from '../../test/support/databases.ts';
import { startPgbouncer, withoutPgbouncer } from '../../test/support/pgbouncer.ts';
import { createConversation } from '../conversations/create/store.ts';
import { openConfiguredDatabase } from '../database.ts';
import { RefusalError } from '../errors.ts';
import { findLog } from '../events/store.ts';
import { ensureUser } from '../users/store.ts';
import { checkSessions } from './postgresSessions.ts';

type Test = Parameters<typeof startPgbouncer>[2];

async function storageBehind(
  settings: readonly string[],
  t: Test & { after(fn: () => Promise<void>): void },
) {
  const storage = await createStorage('postgres', { migrated: false });
  t.after(storage.remove);
  return { ...storage, databaseUrl: await startPgbouncer(storage.databaseUrl ?? '', settings, t) };
}

const transactionModes = {
  'with one session': ['default_pool_size = 1'],
  'that hands out the session that was used last': ['min_pool_size = 4'],
  'that hands out its sessions in turn': ['min_pool_size = 4', 'server_round_robin = 1'],
};

describe('a connection pooler', { skip: withoutPgbouncer }, () => {
  for (const [name, settings] of Object.entries(transactionModes))
    it(`in transaction mode ${name} is refused, and nothing is migrated`, async (t) => {
      const storage = await storageBehind(['pool_mode = transaction', ...settings], t);
      await assert.rejects(
        openConfiguredDatabase(storage, () => {}),
        (error) =>
          error instanceof RefusalError && /PgBouncer with pool_mode=transaction/.test(error.message),
      );
      const direct = postgresUrl(new URL(storage.databaseUrl).pathname.slice(1));
      const { rows } = await withPostgres(direct, (client) =>
        client.query("select 1 from information_schema.tables where table_name = 'conversations'"),
      );
      assert.equal(rows.length, 0);
    });

  it('in session mode works', async (t) => {
    const storage = await storageBehind(['pool_mode = session'], t);
    const database = await openConfiguredDatabase(storage, () => {});
    t.after(database.close);
    const user = await database.run(ensureUser, 'ada');
    const created = await Promise.all(
      ['a', 'b'].map((id) => database.run(createConversation, newConversation(user.id, id))),
    );
    assert.deepEqual(
      created.map(({ outcome }) => outcome),
      ['created', 'created'],
    );
  });
});

describe('prepared statements', () => {
  it('are prepared again on all connections after a migration has changed a type', async (t) => {
    const database = await openTestDatabase('postgres', t);
    const user = await database.run(ensureUser, 'ada');
    await database.run(createConversation, newConversation(user.id, 'c'));
    const readOften = () =>
      Promise.all(Array.from({ length: 30 }, () => database.run(findLog, { userId: user.id, id: 'c' })));
    await readOften();
    await withPostgres(database.databaseUrl ?? '', (client) =>
      client.query('alter table conversations alter column title type varchar(999)'),
    );
    assert.deepEqual(new Set((await readOften()).map((log) => log?.title)), new Set(['c']));
    assert.equal((await database.run(createConversation, newConversation(user.id, 'd'))).outcome, 'created');
  });
});

describe('checkSessions', () => {
  const connected = async (t: Test) => {
    const client = new pg.Client({ connectionString: postgresUrl('postgres') });
    await client.connect();
    t.after(() => client.end());
    return client;
  };

  it('accepts two connections of PostgreSQL itself', async (t) => {
    await checkSessions(await connected(t), await connected(t));
  });

  it('refuses two clients that share a session', async (t) => {
    const shared = await connected(t);
    await assert.rejects(checkSessions(shared, shared), RefusalError);
  });

  it('refuses a client whose session changes after the transaction of another', async (t) => {
    const sessions = [await connected(t), await connected(t), await connected(t)] as const;
    let asked = 0;
    // The third query of the first client runs in another session.
    const first = new Proxy(sessions[0], {
      get: (client, name) =>
        name === 'query' ? (text: string) => (++asked < 3 ? client : sessions[2]).query(text) : undefined,
    });
    await assert.rejects(checkSessions(first, sessions[1]), RefusalError);
  });
});

// What a failover of PostgreSQL looks like to many processes at once, and what it costs them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createConversation } from '../../src/conversations/create/store.ts';
import { openConfiguredDatabase } from '../../src/database.ts';
import type { Database } from '../../src/db/transaction.ts';
import { tryWrite } from '../../src/db/writability.ts';
import { openVault } from '../../src/encryption/vault.ts';
import { createSettings } from '../../src/settings/service.ts';
import { ensureUser, listUserIds } from '../../src/users/store.ts';
import { newConversation } from '../support/conversations.ts';
import { createStorage, postgresUrl, type TestStorage, withPostgres } from '../support/databases.ts';
import { inspect, storedTitles } from '../support/inspect.ts';
import { startPostgresProxy } from '../support/postgresProxy.ts';
import { once, openThroughProxy } from '../support/postgresThroughProxy.ts';
import { createSite } from '../support/process.ts';
import { until, watch } from '../support/until.ts';

type Test = Parameters<typeof openThroughProxy>[0];

const secretKeys = [Buffer.alloc(32, 7)];

function databaseName({ databaseUrl }: TestStorage): string {
  return new URL(databaseUrl ?? '').pathname.slice(1);
}

function administer(sql: string): Promise<unknown> {
  return withPostgres(postgresUrl('postgres'), (client) => client.query(sql));
}

async function openStorage(t: Test): Promise<TestStorage> {
  const storage = await createStorage('postgres', { migrated: false });
  t.after(storage.remove);
  return storage;
}

async function openDatabase(t: Test, storage: TestStorage): Promise<Database> {
  const database = await openConfiguredDatabase(storage, (error) => {
    throw error;
  });
  t.after(() => database.close());
  return database;
}

/** Ends every session of the database again and again, on one connection, so that it is fast. */
function terminateRepeatedly(storage: TestStorage, times: number): Promise<void> {
  return withPostgres(postgresUrl('postgres'), async (client) => {
    for (let time = 0; time < times; time++) {
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
        databaseName(storage),
      ]);
      await wait(time % 10);
    }
  });
}

/** The code of a failure that a flapping database excuses. */
function excusedCode(error: { code?: string }): string {
  assert.match(error.code ?? String(error), /^(database_unavailable|outcome_unknown|overloaded)$/);
  return error.code ?? '';
}

describe('ten pools on a PostgreSQL that flaps', { timeout: 300_000 }, () => {
  it('all go on; nothing acknowledged is lost, and nothing is done twice', async (t) => {
    const storage = await openStorage(t);
    const databases: Database[] = [];
    for (let i = 0; i < 10; i++) databases.push(await openDatabase(t, storage));
    const user = await (databases[0] as Database).run(ensureUser, 'ada');
    const writer = { userId: user.id, keyId: 'k' };
    const created: string[] = [];
    const settingsWrites = { stored: 0, unknown: 0 };
    let finished = false;

    async function createOn(database: Database, name: number): Promise<void> {
      for (let i = 0; !finished; i++) {
        const id = `c-${name}-${i}`;
        await database
          .run(createConversation, newConversation(user.id, id))
          .then(() => created.push(id), excusedCode);
      }
    }

    async function writeOn(database: Database, name: number): Promise<void> {
      const { dataDir } = storage;
      const vault = await openVault({ database, dataDir, secretKeys });
      const settings = createSettings({ database, vault, agentNames: () => ['builtin'] });
      for (let i = 0; !finished; i++)
        await settings.update(writer, 'patch', { llm_model: `m-${name}-${i}` }).then(
          () => (settingsWrites.stored += 1),
          (error) => (settingsWrites.unknown += excusedCode(error) === 'outcome_unknown' ? 1 : 0),
        );
    }

    const work = databases.flatMap((database, name) => [createOn(database, name), writeOn(database, name)]);
    // The vault must be open before the first termination.
    await until('all have begun', () => created.length > 20 && settingsWrites.stored > 5, 30_000);
    await terminateRepeatedly(storage, 200);
    const before = created.length;
    await until('they work again', () => created.length > before + 20, 30_000);
    finished = true;
    await Promise.all(work);

    const titles = await storedTitles(storage);
    assert.equal(new Set(titles).size, titles.length);
    const stored = new Set(titles);
    assert.deepEqual(
      created.filter((id) => !stored.has(id)),
      [],
    );
    const [row] = await inspect(
      storage,
      `select version, (select count(*) from audit where action = 'settings.change') as audited from settings`,
    );
    const version = Number(row?.['version']);
    assert.equal(Number(row?.['audited']), version);
    const { stored: told, unknown } = settingsWrites;
    assert.ok(version >= told && version <= told + unknown, `${told} ≤ ${version} ≤ ${told + unknown}`);
  });
});

describe('a PostgreSQL that has become read-only', { timeout: 240_000 }, () => {
  it('is left for the new primary by every connection of the pool', async (t) => {
    const storage = await openStorage(t);
    const database = await openDatabase(t, storage);
    const name = databaseName(storage);
    // Sessions that begin now are read-only for good: so are those with a server that was demoted.
    await administer(`alter database ${name} set default_transaction_read_only = on`);
    await Promise.all(Array.from({ length: 10 }, () => database.run(listUserIds, null)));
    await assert.rejects(database.run(tryWrite, 1), { code: 'database_unavailable', retryAfterS: 2 });
    await database.run(listUserIds, null);
    await Promise.all(Array.from({ length: 10 }, () => database.run(listUserIds, null)));
    await administer(`alter database ${name} reset default_transaction_read_only`);
    // The first to find out speaks for all ten: one more try is enough.
    await database.run(tryWrite, 1);
  });
});

describe('a PostgreSQL with too few connections', { timeout: 240_000 }, () => {
  it('serves as many as it can and refuses the others, 503', async (t) => {
    const storage = await openStorage(t);
    const name = databaseName(storage);
    const role = `${name}_role`;
    await administer(`create role ${role} login password 'few' connection limit 4`);
    await administer(`alter database ${name} owner to ${role}`);
    // The database that it owns is removed before.
    t.after(() => administer(`drop role ${role}`).then(() => {}));
    await withPostgres(postgresUrl(name), (client) => client.query(`alter schema public owner to ${role}`));
    const url = new URL(storage.databaseUrl ?? '');
    url.username = role;
    url.password = 'few';
    const database = await openConfiguredDatabase({ ...storage, databaseUrl: url.href }, () => {});
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => database.run(tryWrite, 1)));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'database_unavailable');
    assert.ok(outcomes.some(({ status }) => status === 'fulfilled'));
    await database.run(tryWrite, 1);
    await database.close();
  });
});

describe('a process that sleeps in the middle of a transaction', { timeout: 240_000 }, () => {
  it('loses its locks to others, and does not write over them when it wakes', async (t) => {
    const site = await createSite('postgres', t);
    const env = { PARLEY_SECRET_KEY: '07'.repeat(32), SESSION_API_KEY: 'the-key-of-both' };
    const { proxy } = await openThroughProxy(t, site.storage);
    const sleeper = await site.serve({ env: { ...env, DATABASE_URL: proxy.url } });
    const other = await site.serve({ env: { ...env, PARLEY_DATA_DIR: site.createDir() } });
    const set = (service: typeof other, llm_model: string) =>
      service.ask('/api/settings', { json: { llm_model } });
    assert.equal((await set(sleeper, 'first')).status, 200);

    // It has the row, and has not been told yet.
    const { rule, seen } = once(
      ({ name, text }) => name === 'CommandComplete' && text === 'UPDATE 1',
      'hold',
    );
    proxy.rule(rule);
    const slept = watch(set(sleeper, 'of the sleeper'));
    await until('it has the row', seen);
    sleeper.send('SIGSTOP');
    proxy.release();
    const { status, text } = await set(other, 'of the other');
    assert.equal(status, 200, text);
    sleeper.send('SIGCONT');
    const late = await slept.promise;
    const stored = await other.ask('/api/settings', {});
    // Either it was told that nothing is stored, or it was stored after the other.
    if (late.status === 200) assert.equal(stored.body.llm_model, 'of the sleeper');
    else {
      assert.deepEqual([late.status, late.body.code], [503, 'database_unavailable']);
      assert.equal(stored.body.llm_model, 'of the other');
    }
  });
});

describe('a process that starts and stops while PostgreSQL fails', { timeout: 240_000 }, () => {
  it('starts although its migration is cut off at any step', async (t) => {
    for (const step of ['BEGIN', 'SELECT 1', 'CREATE TABLE', 'COMMIT']) {
      const storage = await openStorage(t);
      const proxy = await startPostgresProxy(storage.databaseUrl ?? '', t);
      const { rule, seen } = once(({ name, text }) => name === 'CommandComplete' && text === step, 'cut');
      proxy.rule(rule);
      const database = await openDatabase(t, { ...storage, databaseUrl: proxy.url });
      assert.ok(seen(), step);
      await database.run(tryWrite, 1);
    }
  });

  it('closes while it connects to a server that does not answer', async (t) => {
    const { database, proxy } = await openThroughProxy(t);
    let begun = 0;
    proxy.rule(({ name }) => {
      if (name === 'Startup') begun += 1;
      return name === 'Startup' || name === 'Terminate' ? 'hold' : 'pass';
    });
    const writes = Promise.allSettled([database.run(tryWrite, 1), database.run(tryWrite, 1)]);
    await until('it connects', () => begun > 0);
    await database.close();
    for (const outcome of await writes)
      assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'database_unavailable');
  });
});

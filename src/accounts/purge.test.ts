import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { newConversation } from '../../test/support/conversations.ts';
import { databaseKinds, openTestDatabase } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { createConversation } from '../conversations/create/store.ts';
import type { DatabaseKind } from '../db/transaction.ts';
import { ensureUser } from '../users/store.ts';
import { purgeStep } from './purgeStore.ts';
import { createAccounts } from './service.ts';
import { createAccountSweep } from './sweep.ts';

const events = 2_500;
/** The columns of a run, without which a conversation can be deleted. */
const leftNull = new Set(['run_id', 'owner', 'wanted', 'removed_at']);

type Storage = Awaited<ReturnType<typeof openTestDatabase>>;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly isText: boolean;
  readonly isRequired: boolean;
}

/** All columns of all tables, from the schema of the database itself. */
async function listColumns(storage: Storage): Promise<Map<string, Column[]>> {
  const found = await inspect(
    storage,
    storage.kind === 'sqlite'
      ? `select m.name as "table", c.name as name, lower(c.type) as type, c."notnull" as required,
           case when lower(c.type) = 'integer' and c.name in ('id', 'key') then 1 else 0 end as numbered,
           c.dflt_value as preset
         from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`
      : `select c.table_name as "table", column_name as name, data_type as type,
           case when is_nullable = 'NO' then 1 else 0 end as required,
           case when is_identity = 'YES' then 1 else 0 end as numbered, column_default as preset
         from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
         where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const columns = found.map((row) => ({
    table: String(row['table']),
    name: String(row['name']),
    isText: row['type'] === 'text',
    isRequired:
      (Number(row['required']) === 1 || row['name'] === 'place') &&
      row['preset'] === null &&
      Number(row['numbered']) === 0,
  }));
  return Map.groupBy(columns, ({ table }) => table);
}

interface Owner {
  readonly name: string;
  readonly id: number;
  readonly key: number;
}

/** Inserts a row of the user, whose texts are all canaries. */
async function plant(
  storage: Storage,
  table: string,
  columns: readonly Column[],
  owner: Owner,
): Promise<void> {
  const used = columns.filter(
    ({ name, isText, isRequired }) => isRequired || (isText && !leftNull.has(name)),
  );
  const values = used.map(({ name, isText }) => {
    if (name === 'user_id') return String(owner.id);
    if (name === 'conversation_key') return String(owner.key);
    if (name === 'place') return `(cast(${owner.key} as bigint) << 32)`;
    if (table === 'conversations' && name === 'key') return String(owner.key);
    return isText ? `'CANARY ${owner.name} ${table} ${name}'` : String(owner.key);
  });
  const names = used.map(({ name }) => `"${name}"`);
  await inspect(storage, `insert into ${table} (${names.join()}) values (${values.join()})`);
}

async function open(kind: DatabaseKind, t: TestContext) {
  const storage = await openTestDatabase(kind, t);
  const tables = await listColumns(storage);
  const has = (table: string, column: string) => tables.get(table)?.some(({ name }) => name === column);
  const ofUsers = [...tables.keys()].filter((table) => has(table, 'user_id'));
  const ofConversations = [...tables.keys()].filter(
    (table) => (has(table, 'conversation_key') && !has(table, 'user_id')) || table === 'events',
  );
  const owners: Owner[] = [];
  for (const [name, key] of [
    ['ada', 1_001],
    ['bob', 1_002],
  ] as const) {
    const owner = { name, key, id: (await storage.run(ensureUser, name)).id };
    owners.push(owner);
    // Conversations first: their key is theirs to choose.
    for (const table of [
      'conversations',
      ...ofUsers.filter((one) => one !== 'conversations'),
      ...ofConversations,
    ]) {
      const columns = tables.get(table) ?? [];
      const own =
        table === 'conversations' ? [...columns.filter((c) => c.name !== 'key'), keyColumn] : columns;
      await plant(storage, table, own, owner);
    }
  }
  await inspect(
    storage,
    'update deliveries set webhook_id = (select id from webhooks where webhooks.user_id = deliveries.user_id)',
  );
  await inspect(storage, "update conversations set status = 'STOPPED'");
  await inspect(storage, "update webhooks set events = '[]'");
  await storage.run(ensureUser, 'owner');
  return { storage, tables, ofUsers, ofConversations, owners };
}

const keyColumn: Column = { table: 'conversations', name: 'key', isText: false, isRequired: true };

const count = async (storage: Storage, table: string, where: string) =>
  Number((await inspect(storage, `select count(*) as n from ${table} where ${where}`))[0]?.['n']);

const accountsOf = (storage: Storage) =>
  createAccounts({
    database: storage,
    onChange: () => {},
    removedDays: 30,
    budgetOfAll: { day: null, month: null },
  });

async function makeOld(storage: Storage, name: string): Promise<void> {
  await accountsOf(storage).remove('someone', name);
  const old = Date.now() - 31 * 86_400_000;
  await inspect(storage, `update users set removed_at = ${old} where name = '${name}'`);
}

/** Its timers may run until the database is closed, so only errors in the calls of a test count. */
function openSweep(storage: Storage, t: TestContext) {
  const errors: Error[] = [];
  const sweep = createAccountSweep({
    database: storage,
    removedDays: 30,
    onBackgroundError: (error) => errors.push(error),
  });
  t.after(sweep.close);
  const checked = (work: () => Promise<void>) => async () => {
    await work();
    assert.deepEqual(errors, []);
  };
  return {
    purge: checked(sweep.purge),
    prune: checked(sweep.prune),
    stopInactive: checked(sweep.stopInactive),
  };
}

for (const kind of databaseKinds)
  describe(`the purge of a removed user on ${kind}`, () => {
    it('leaves nothing of the user in any table, and everything of others', async (t) => {
      const { storage, tables, ofUsers, ofConversations, owners } = await open(kind, t);
      const [ada, bob] = owners as [Owner, Owner];
      assert.ok(ofUsers.length >= 13, ofUsers.join());
      for (const table of ofUsers)
        assert.ok((await count(storage, table, `user_id = ${ada.id}`)) > 0, `${table} has a row`);
      await makeOld(storage, 'ada');
      const sweep = openSweep(storage, t);
      await sweep.purge();
      // Blobs of snapshots are removed by another sweep, and then the row.
      assert.equal(await count(storage, 'users', `id = ${ada.id} and purged_at is null`), 1);
      assert.equal(await count(storage, 'snapshots', `user_id = ${ada.id} and removed_at is null`), 0);
      await inspect(storage, `delete from snapshots where user_id = ${ada.id}`);
      await sweep.purge();
      assert.equal(await count(storage, 'users', `id = ${ada.id} and purged_at is not null`), 1);
      for (const table of ofUsers) {
        const kept = table === 'audit' ? "action not like 'user.%'" : '1 = 1';
        assert.equal(await count(storage, table, `user_id = ${ada.id} and ${kept}`), 0, table);
        assert.ok((await count(storage, table, `user_id = ${bob.id}`)) > 0, `${table} of another user`);
      }
      for (const table of ofConversations) {
        const rows = await inspect(storage, `select count(*) as n from ${table}`);
        assert.equal(Number(rows[0]?.['n']), 1, table);
      }
      for (const table of tables.keys()) {
        const text = JSON.stringify(await inspect(storage, `select * from ${table}`), (_, value) =>
          typeof value === 'bigint' ? String(value) : value,
        );
        assert.ok(!/CANARY ada|"ada"/.test(text), `${table}: ${text}`);
      }
      const audited = await inspect(
        storage,
        `select action, subject from audit where user_id = ${ada.id} order by id`,
      );
      assert.deepEqual(
        audited.map((row) => ({ ...row })),
        [
          { action: 'user.remove', subject: `#${ada.id}` },
          { action: 'user.purge', subject: `#${ada.id}` },
        ],
      );
    });

    it('takes many transactions for a long log, and can end between any two of them', async (t) => {
      const { storage, owners } = await open(kind, t);
      const [ada] = owners as [Owner, Owner];
      await inspect(storage, `delete from snapshots where user_id = ${ada.id}`);
      await inspect(
        storage,
        `insert into events (place, json) with recursive n (i) as (select 1 union all select i + 1 from n where i < ${events})
         select (cast(${ada.key} as bigint) << 32) | i, '{}' from n`,
      );
      await makeOld(storage, 'ada');
      const removedMs = 30 * 86_400_000;
      let steps = 1;
      while ((await storage.run(purgeStep, { userId: ada.id, removedMs })) === 'more') steps += 1;
      assert.ok(steps > 10, String(steps));
      assert.equal(await count(storage, 'users', `id = ${ada.id} and purged_at is not null`), 1);
      assert.equal(await storage.run(purgeStep, { userId: ada.id, removedMs }), 'done');
    });

    it('does not begin before its time, or for a user who was restored, and makes the name free', async (t) => {
      const { storage } = await open(kind, t);
      const accounts = accountsOf(storage);
      await accounts.remove('someone', 'bob');
      await makeOld(storage, 'ada');
      await accounts.restore('someone', 'ada');
      const sweep = openSweep(storage, t);
      await sweep.purge();
      assert.deepEqual(
        (await accounts.list()).map(({ name, state }) => `${name} ${state}`),
        ['ada active', 'bob removed', 'owner active'],
      );
      await makeOld(storage, 'ada');
      await sweep.purge();
      await assert.rejects(accounts.restore('someone', 'ada'), { code: 'not_found' });
      assert.equal((await accounts.create('someone', 'ada')).state, 'active');
    });

    it('is not kept waiting by a hundred others that wait for their runs', async (t) => {
      const storage = await openTestDatabase(kind, t);
      const waiting = Array.from({ length: 100 }, (_, i) => `waiting-${i}`);
      const create = async (name: string) => {
        const { id } = await storage.run(ensureUser, name);
        await storage.run(createConversation, newConversation(id, name));
      };
      await Promise.all(waiting.map(create));
      await storage.run(ensureUser, 'ada');
      await inspect(storage, "update conversations set run_id = 'run', status = 'STOPPED'");
      await inspect(storage, 'update users set removed_at = 1');
      const sweep = openSweep(storage, t);
      await sweep.purge();
      await sweep.purge();
      assert.equal(await count(storage, 'users', 'purged_at is not null'), 1);
      await inspect(storage, 'update conversations set run_id = null');
      await sweep.purge();
      assert.equal(await count(storage, 'users', 'purged_at is null'), 0);
    });

    it('comes with the deletion of old spending of everybody', async (t) => {
      const { storage } = await open(kind, t);
      await openSweep(storage, t).prune();
      assert.equal(await count(storage, 'spending', 'day < 10000'), 0);
    });

    it('waits for a run that has not ended', async (t) => {
      const { storage, owners } = await open(kind, t);
      const [ada] = owners as [Owner, Owner];
      await inspect(
        storage,
        `update conversations set run_id = 'run', lease_until = 0 where user_id = ${ada.id}`,
      );
      await makeOld(storage, 'ada');
      const sweep = openSweep(storage, t);
      await sweep.purge();
      assert.equal(await count(storage, 'conversations', `user_id = ${ada.id}`), 1);
      await inspect(storage, 'update conversations set run_id = null');
      await sweep.purge();
      assert.equal(await count(storage, 'conversations', `user_id = ${ada.id}`), 0);
    });
  });

for (const kind of databaseKinds)
  describe(`what an inactive user still runs on ${kind}`, () => {
    it('is stopped by the sweep of any process', async (t) => {
      const { storage, owners } = await open(kind, t);
      const [ada] = owners as [Owner, Owner];
      await inspect(storage, "update conversations set status = 'STARTING'");
      await inspect(storage, `update users set disabled_at = 1 where id = ${ada.id}`);
      await openSweep(storage, t).stopInactive();
      const rows = await inspect(storage, 'select status, stop_code from conversations order by key');
      assert.deepEqual(
        rows.map(({ status, stop_code }) => [status, stop_code]),
        [
          ['STOPPED', 'user_inactive'],
          ['STARTING', `CANARY bob conversations stop_code`],
        ],
      );
    });
  });

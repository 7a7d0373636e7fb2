// `parley migrate`, as a job runs it before the processes of a cluster start.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { openConfiguredDatabase } from '../../src/database.ts';
import { migrations } from '../../src/db/migrate.ts';
import { listUserIds } from '../../src/users/store.ts';
import { createStorage, databaseKinds, withPostgres } from '../support/databases.ts';
import { mainFile } from '../support/program.ts';

function migrate({ dataDir, databaseUrl }: { dataDir: string; databaseUrl: string | undefined }) {
  const env = {
    PATH: process.env['PATH'],
    PARLEY_DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  };
  return spawnSync(process.execPath, [mainFile, 'migrate'], { env, encoding: 'utf8' });
}

async function emptyStorage(t: TestContext, kind: (typeof databaseKinds)[number]) {
  const storage = await createStorage(kind, { migrated: false });
  t.after(() => storage.remove());
  return storage;
}

describe('parley migrate', () => {
  for (const kind of databaseKinds)
    it(`creates the schema in an empty database, and changes nothing the second time (${kind})`, async (t) => {
      const storage = await emptyStorage(t, kind);
      const done = 'The schema of the database is up to date.\n';
      const created = `There is no database in ${storage.dataDir}, so this command creates it. If a service uses another data folder, repeat the command with PARLEY_DATA_DIR.\n`;
      const first = migrate(storage);
      assert.deepEqual([first.status, first.stderr], [0, kind === 'sqlite' ? created + done : done]);
      const second = migrate(storage);
      assert.deepEqual([second.status, second.stderr], [0, done]);
      const database = await openConfiguredDatabase(storage, assert.fail);
      assert.deepEqual(await database.run(listUserIds, null), []);
      await database.close();
    });

  it('refuses a schema that a newer version has changed', async (t) => {
    const storage = await emptyStorage(t, 'postgres');
    assert.equal(migrate(storage).status, 0);
    await withPostgres(storage.databaseUrl ?? '', async (client) => {
      const { rows } = await client.query('select count(*)::int as count from migrations');
      assert.equal(rows[0].count, migrations.length);
      await client.query("insert into migrations values ('9999-newer', 0, 'contract')");
    });
    const { status, stderr } = migrate(storage);
    assert.equal(status, 2);
    assert.match(stderr, /9999-newer/);
  });

  it('says that the database cannot be reached, without its password', () => {
    const databaseUrl = 'postgres://someone:canary-password@127.0.0.1:1/parley';
    const { status, stderr } = migrate({ dataDir: tmpdir(), databaseUrl });
    assert.notEqual(status, 0);
    assert.match(stderr, /ECONNREFUSED/);
    assert.ok(!stderr.includes('canary-password'), stderr);
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { databaseKinds, postgresUrl, type TestStorage, withPostgres } from '../support/databases.ts';
import { createSite, type ProgramOptions, type Site } from '../support/process.ts';

// Most of the time here goes into starts, which leave a core idle now and then.
const suite = { timeout: 240_000, concurrency: 2 };
type Test = Parameters<typeof createSite>[1];

const secretKey = randomBytes(32);
const password = 'a-password-that-nobody-may-see';
const sessionKey = 'a-session-key-that-nobody-may-see';
const secrets = [
  ...[secretKey.toString('hex'), secretKey.toString('base64'), password, sessionKey],
  new URL(postgresUrl('')).password,
];

/** Starts the service where it must not run: one sentence, exit code 2, and no secret in it. */
async function refused(site: Site, wanted: RegExp, options: ProgramOptions = {}): Promise<void> {
  const env = { SESSION_API_KEY: sessionKey, ...options.env };
  const { code, stdout, stderr } = await site.run(['serve', ...(options.flags ?? [])], { env });
  assert.equal(code, 2, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^parley: [^\n]+\n$/);
  assert.match(stderr, wanted);
  for (const secret of secrets) assert.equal(stderr.includes(secret), false, stderr);
}

/** A folder and database that a service has used. */
async function createUsed(kind: Site['kind'], t: Test): Promise<Site> {
  const site = await createSite(kind, t);
  const service = await site.serve();
  service.send('SIGKILL');
  await service.ended();
  return site;
}

async function execute({ databaseUrl, dataDir }: TestStorage, sql: string): Promise<void> {
  if (databaseUrl !== undefined) {
    await withPostgres(databaseUrl, (client) => client.query(sql));
    return;
  }
  const database = new DatabaseSync(join(dataDir, 'parley.db'));
  database.exec(sql);
  database.close();
}

/** Listens on a port and says nothing. */
async function occupyPort(t: Test): Promise<number> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
  t.after(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise((listening) => server.once('listening', listening));
  return (server.address() as { port: number }).port;
}

for (const kind of databaseKinds) {
  describe(`a start on a ${kind} database`, suite, () => {
    it('is refused with another encryption key than it was made with, and without one', async (t) => {
      const site = await createUsed(kind, t);
      const env = { PARLEY_SECRET_KEY: secretKey.toString('hex') };
      await refused(site, /encryption key is wrong.*PARLEY_SECRET_KEY/, { env });
      const file = join(site.storage.dataDir, 'secret.key');
      rmSync(file);
      await refused(site, /encryption key is missing.*secret\.key/);
      assert.throws(() => readFileSync(file), { code: 'ENOENT' });
    });

    it('is refused where a newer version wrote it', async (t) => {
      const site = await createUsed(kind, t);
      await execute(
        site.storage,
        `insert into migrations (name, applied_at, kind) values ('9998-more', 0, 'expand'), ('9999-future', 0, 'contract')`,
      );
      await refused(site, /newer version of Parley.*9999-future/);
      const listed = await site.run(['users', 'list']);
      assert.equal(listed.code, 2);
      assert.match(listed.stderr, /^parley: .*newer version of Parley[^\n]+\n$/);
      assert.doesNotMatch(listed.stderr, /9998-more/);
    });

    it('succeeds where a newer version has only added to it', async (t) => {
      const site = await createUsed(kind, t);
      await execute(site.storage, 'alter table conversations add column more text');
      await execute(
        site.storage,
        "insert into migrations (name, applied_at, kind) values ('9998-more', 0, 'expand')",
      );
      const service = await site.serve();
      const key = readFileSync(join(site.storage.dataDir, 'owner.key'), 'utf8').trim();
      const json = { initial_user_msg: 'hello' };
      assert.equal((await service.ask('/api/conversations', { json, key })).status, 200);
    });
  });
}

describe('a start on SQLite', suite, () => {
  it('is refused where secret.key is damaged or of another database, and works with the right one', async (t) => {
    const site = await createUsed('sqlite', t);
    const file = join(site.storage.dataDir, 'secret.key');
    const right = readFileSync(file);
    writeFileSync(file, right.subarray(0, 20));
    await refused(site, /secret\.key is damaged.*backup/);
    writeFileSync(file, secretKey.toString('hex'));
    await refused(site, /encryption key is wrong/);
    writeFileSync(file, right);
    const again = await site.serve();
    assert.equal((await again.ask('/api/settings')).status, 200);
  });

  it('is refused where the port is taken', async (t) => {
    const site = await createSite('sqlite', t);
    const port = await occupyPort(t);
    await refused(site, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is taken`), { env: { PORT: `${port}` } });
  });

  it('is refused where an option is wrong', async (t) => {
    const site = await createSite('sqlite', t);
    await refused(site, /PORT must be a whole number/, { env: { PORT: '80a' } });
    await refused(site, /--colour.*parley serve --help/, { flags: ['--colour', 'red'] });
    await refused(site, /PARLEY_SECRET_KEY must be 32 bytes/, { env: { PARLEY_SECRET_KEY: password } });
  });

  it('is refused where the data folder cannot be made', async (t) => {
    const site = await createSite('sqlite', t);
    const file = join(site.storage.dataDir, 'file');
    writeFileSync(file, '');
    const env = { PARLEY_DATA_DIR: join(file, 'data') };
    await refused(site, /data folder .* cannot be created.*PARLEY_DATA_DIR/, { env });
  });

  for (const name of ['parley.db', 'service.lock']) {
    it(`is refused where ${name} cannot be opened`, async (t) => {
      const site = await createSite('sqlite', t);
      mkdirSync(join(site.storage.dataDir, name));
      await refused(site, new RegExp(name.replace('.', '\\.')));
    });
  }

  it('is refused where parley.db is no database, as are the commands', async (t) => {
    const site = await createSite('sqlite', t);
    const file = join(site.storage.dataDir, 'parley.db');
    writeFileSync(file, 'These are notes of somebody, and no database at all.');
    await refused(site, /parley\.db.*not a database/);
    const listed = await site.run(['users', 'list']);
    assert.equal(listed.code, 2, listed.stderr);
    assert.match(listed.stderr, /^parley: .*parley\.db.*not a database[^\n]*\n$/);
    assert.match(readFileSync(file, 'utf8'), /^These are notes/);
  });
});

describe('a start on PostgreSQL', suite, () => {
  function at(port: string | number): ProgramOptions {
    return { env: { DATABASE_URL: `postgres://parley:${password}@127.0.0.1:${port}/none` } };
  }

  it('is refused where DATABASE_URL is no PostgreSQL address', async (t) => {
    const site = await createSite('sqlite', t);
    const env = { DATABASE_URL: `mysql://parley:${password}@127.0.0.1/none` };
    await refused(site, /DATABASE_URL must be a postgres:\/\/ URL/, { env });
  });

  it('is refused where nobody answers, the password is wrong or the database is missing', async (t) => {
    const site = await createSite('sqlite', t);
    const real = new URL(postgresUrl('none'));
    await refused(site, /DATABASE_URL is not available: .*ECONNREFUSED/, at(1));
    await refused(site, /DATABASE_URL is not available: .*password/, at(real.port));
    await refused(site, /DATABASE_URL is not available: .*"none" does not exist/, {
      env: { DATABASE_URL: real.href },
    });
  });

  it('is refused where somebody listens and says nothing', async (t) => {
    const site = await createSite('sqlite', t);
    await refused(site, /DATABASE_URL is not available: /, at(await occupyPort(t)));
  });
});

// `parley doctor`, on machines with and without problems.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { createCommandLine } from '../support/commandLine.ts';
import { createStorage } from '../support/databases.ts';
import { findings, statesOf } from '../support/doctor.ts';
import { inspect } from '../support/inspect.ts';
import { startOidcProvider } from '../support/oidcProvider.ts';
import { noBubblewrap } from '../support/sandboxes.ts';
import { startService } from '../support/service.ts';

/** A free port, so that nothing answers by accident. */
const quiet = { PORT: '0' };

async function emptyStorage(t: TestContext) {
  const storage = await createStorage('sqlite');
  t.after(() => storage.remove());
  return storage;
}

/** Where no service runs. */
async function examine(t: TestContext, env: Record<string, string> = {}) {
  const storage = await emptyStorage(t);
  // Nothing listens on port 9, and no service is named.
  const line = createCommandLine({ url: '', storage }, t, { ...quiet, ...env });
  return { storage, run: async () => line.run(['doctor', '--json']) };
}

const readSecretKey = (dataDir: string) => readFileSync(join(dataDir, 'secret.key'), 'utf8').trim();

describe('parley doctor', () => {
  it('finds no problem if the service has a model, 0', async (t) => {
    const service = await startService({ env: { PARLEY_ROLE: 'all' } }, t);
    await service.ask('/api/settings', { json: { llm_model: 'openai/x', llm_api_key: 'CANARY-model-key' } });
    // Any server that accepts connections.
    const env = { PARLEY_MODEL_HOSTS: `openai=${service.url}` };
    const ran = await createCommandLine(service, t, env).run(['doctor', '--json']);
    const found = findings(ran);
    assert.equal(ran.code, 0, ran.stdout);
    const states = statesOf(found);
    for (const check of ['data folder', 'database', 'service', 'key', 'clock', 'workers', 'model', 'agents'])
      assert.equal(states[check], 'ok', JSON.stringify(found.get(check)));
    const { limits } = (await service.ask('/server_info')).body;
    assert.equal(states['limits'], limits.memory && limits.processes ? 'ok' : 'note');
    assert.match(String(found.get('service')?.message), /^Parley \S+ answers at http:/);
    assert.ok(!ran.stdout.includes('CANARY') && !ran.stdout.includes(service.key));
  });

  it('says how to fix a missing model, a missing API key, an unknown agent and a wrong API key, 1', async (t) => {
    const service = await startService({}, t);
    const run = async (env: Record<string, string> = {}) => {
      const ran = await createCommandLine(service, t, env).run(['doctor', '--json']);
      assert.equal(ran.code, 1);
      return findings(ran);
    };
    const without = await run();
    assert.match(String(without.get('model')?.remedy), /parley settings set llm_model/);
    await service.ask('/api/settings', { json: { llm_model: 'openai/x' } });
    // An earlier version has stored an agent that does not exist.
    await inspect(
      service.storage,
      `update settings set version = version + 1, document = '{"llm_model":"openai/x","agent":"nonsense"}'`,
    );
    const wrong = await run();
    assert.match(String(wrong.get('model')?.remedy), /parley provider-keys set openai/);
    assert.match(String(wrong.get('agents')?.message), /no agent named "nonsense"/);
    await service.ask('/api/provider-keys/openai', { method: 'PUT', json: { api_key: 'sk' } });
    assert.doesNotMatch(String((await run()).get('model')?.message), /has no API key/);
    const dead = { llm_base_url: 'http://127.0.0.1:9/v1' };
    await service.ask('/api/settings', { json: dead });
    const { message, remedy } = (await run()).get('model') ?? {};
    assert.match(
      `${message} ${remedy}`,
      /at http:\/\/127\.0\.0\.1:9, where nothing answers \(ECONNREFUSED\).*llm_base_url/,
    );
    // The service may reach private addresses, whatever the environment of this command says.
    const other = await run({ PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' });
    assert.match(String(other.get('model')?.message), /where nothing answers/);
    assert.match(String(other.get('addresses')?.message), /by the environment of this command/);
    assert.equal((await run({ PARLEY_KEY: 'wrong-key' })).get('key')?.state, 'wrong');
    // A key that cannot be read is not the same as no key.
    const folder = join(service.storage.dataDir, 'unreadable');
    mkdirSync(join(folder, 'owner.key'), { recursive: true });
    const unreadable = await run({ PARLEY_DATA_DIR: folder });
    assert.match(String(unreadable.get('key')?.message), /owner\.key cannot be read: EISDIR\./);
  });

  it('says that a second user has switched local models off, and how to allow them, 1', async (t) => {
    const storage = await emptyStorage(t);
    const service = await startService({ storage });
    await service.ask('/api/settings', { json: { llm_model: 'ollama/x' } });
    await service.ask('/api/keys', { json: { name: 'k', user: 'ada' } });
    await service.stop();
    const run = async (more: Record<string, string> = {}) => {
      const env = { ...quiet, PARLEY_URL: '', ...more };
      return findings(await createCommandLine({ url: '', storage }, t, env).run(['doctor', '--json']));
    };
    const found = await run();
    assert.equal(found.get('addresses')?.state, 'note');
    assert.match(String(found.get('addresses')?.message), /off, because there is more than one user/);
    assert.equal(found.get('model')?.state, 'wrong');
    assert.match(String(found.get('model')?.remedy), /PARLEY_ALLOW_PRIVATE_ADDRESSES=127\.0\.0\.1:11434 /);
    const allowed = await run({ PARLEY_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1:11434' });
    assert.deepEqual(allowed.get('addresses'), {
      check: 'addresses',
      state: 'ok',
      message: 'The private addresses of 127.0.0.1:11434 can be reached.',
    });
    assert.doesNotMatch(String(allowed.get('model')?.message), /private/);
    const again = await startService({ storage }, t);
    assert.match(
      again.logs(),
      /Local models and other private addresses are off, because there is more than one/,
    );
  });

  it('notes that the seccomp filter is off, 0', { skip: noBubblewrap }, async (t) => {
    const { run } = await examine(t, { PARLEY_URL: '', PARLEY_SECCOMP: 'off' });
    const { state, message } = findings(await run()).get('sandbox') ?? {};
    assert.equal(state, 'note');
    assert.match(String(message), /without a seccomp filter, as PARLEY_SECCOMP=off asks for\./);
  });

  it('does not complain about what the first start creates, 0', async (t) => {
    const { storage, run } = await examine(t, { PARLEY_URL: '' });
    const ran = await run();
    assert.equal(ran.code, 0, ran.stdout);
    assert.deepEqual([statesOf(findings(ran))['database'], storage.databaseUrl], ['note', undefined]);
  });

  it('checks the settings of a stopped service, and a database that is newer, older, or missing', async (t) => {
    const storage = await emptyStorage(t);
    const service = await startService({ storage });
    await service.ask('/api/settings', { json: { llm_model: 'ollama/x' } });
    await service.stop();
    const other = createServer((socket) => socket.destroy());
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    t.after(async () => void other.close());
    const { port } = other.address() as { port: number };
    const env = { ...quiet, PARLEY_URL: '', PARLEY_MODEL_HOSTS: `ollama=http://127.0.0.1:${port}` };
    const run = () => createCommandLine({ url: '', storage }, t, env).run(['doctor', '--json']);
    const before = findings(await run());
    assert.deepEqual(
      [before.get('database')?.state, before.get('model')?.message],
      ['ok', 'ollama/x is set, without an API key.'],
    );
    const file = join(storage.dataDir, 'parley.db');
    const change = (sql: string) => {
      const database = new DatabaseSync(file);
      database.exec(sql);
      database.close();
    };
    change('delete from migrations where name = (select max(name) from migrations)');
    assert.match(
      String(findings(await run()).get('database')?.message),
      /1 migration has not been applied yet\.$/,
    );
    change("insert into migrations (name, applied_at) values ('9999-future', 0)");
    const newer = await run();
    assert.deepEqual([newer.code, findings(newer).get('database')?.state], [1, 'wrong']);
    writeFileSync(file, 'this is no database at all, it is only text'.repeat(100));
    const broken = await run();
    assert.deepEqual([broken.code, findings(broken).get('database')?.state], [1, 'wrong']);
  });

  it('reports a data folder that is a file, a clock that is behind, and a port in use, 1', async (t) => {
    const storage = await emptyStorage(t);
    const folder = join(storage.dataDir, 'file');
    writeFileSync(folder, '');
    const taken = createServer((socket) => socket.destroy());
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    t.after(async () => void taken.close());
    const { port } = taken.address() as { port: number };
    const env = { PARLEY_URL: '', PARLEY_DATA_DIR: folder, PORT: String(port) };
    const ran = await createCommandLine({ url: '', storage }, t, env).run(['doctor', '--json']);
    const found = findings(ran);
    assert.equal(ran.code, 1);
    assert.match(String(found.get('data folder')?.message), /is not a folder/);
    assert.match(String(found.get('service')?.message), /another program uses it/);
    mkdirSync(join(storage.dataDir, 'ahead'));
    const ahead = { ...storage, dataDir: join(storage.dataDir, 'ahead') };
    const service = await startService({ storage: ahead });
    await service.ask('/api/conversations', { json: { conversation_id: 'c' } });
    await service.stop();
    const database = new DatabaseSync(join(ahead.dataDir, 'parley.db'));
    database.exec('update conversations set updated_at = updated_at + 3600000');
    database.close();
    const later = await createCommandLine({ url: '', storage: ahead }, t, { ...quiet, PARLEY_URL: '' }).run([
      'doctor',
      '--json',
    ]);
    assert.match(String(findings(later).get('clock')?.message), /3[56]\d\d s behind/);
  });

  it('tries the snapshot store, 0 or 1', async (t) => {
    const storage = await emptyStorage(t);
    const folder = join(storage.dataDir, 'store');
    const run = () =>
      createCommandLine({ url: '', storage }, t, { ...quiet, PARLEY_URL: '', PARLEY_SNAPSHOTS: folder }).run([
        'doctor',
        '--json',
      ]);
    const missing = await run();
    const { state, message } = findings(missing).get('snapshots') ?? {};
    assert.deepEqual([missing.code, state], [1, 'wrong']);
    assert.match(String(message), /store cannot be used: the folder does not exist/);
    mkdirSync(folder);
    assert.equal(findings(await run()).get('snapshots')?.state, 'ok');
    assert.deepEqual(readdirSync(folder), []);
  });

  it('asks the sign-in provider, 0 or 1', async (t) => {
    const provider = await startOidcProvider('https://parley.example.com/sign-in', t);
    const { run } = await examine(t, {
      PARLEY_PUBLIC_URL: 'https://parley.example.com',
      PARLEY_OIDC_ISSUER: provider.issuer,
      PARLEY_OIDC_CLIENT_ID: 'parley',
      PARLEY_OIDC_NAME: 'Example',
    });
    const good = findings(await run()).get('sign-in');
    assert.deepEqual(
      [good?.state, good?.message],
      ['ok', 'Example answers. It must know the redirect URI https://parley.example.com/sign-in.'],
    );
    provider.isDown = true;
    const down = await run();
    assert.deepEqual([down.code, findings(down).get('sign-in')?.state], [1, 'wrong']);
  });

  it('does not take the second machine of a cluster for one with a problem, 0', async (t) => {
    const storage = await createStorage('postgres');
    const secret = { PARLEY_SECRET_KEY: '11'.repeat(32) };
    const first = await startService({ storage, env: secret }, t);
    t.after(() => storage.remove());
    await first.ask('/api/settings', { json: { llm_model: 'ollama/x' } });
    const dataDir = join(storage.dataDir, 'second');
    mkdirSync(dataDir);
    const shared = { DATABASE_URL: String(storage.databaseUrl), PARLEY_MODEL_HOSTS: `ollama=${first.url}` };
    const second = { ...storage, dataDir };
    const run = async (env: Record<string, string>) =>
      findings(
        await createCommandLine({ url: '', storage: second }, t, { ...shared, ...env }).run([
          'doctor',
          '--json',
        ]),
      );
    const stopped = await run({ PARLEY_URL: '', ...quiet });
    assert.match(String(stopped.get('settings')?.message), /^The encryption key is missing\..*same one/);
    for (const PARLEY_ROLE of ['all', 'worker']) {
      // The test itself needs a key, which the command does not get.
      const env = { ...secret, PARLEY_ROLE, SESSION_API_KEY: 'a-key-of-the-test' };
      const { url, stop } = await startService({ storage: second, env });
      const found = await run({ ...secret, PARLEY_ROLE, PARLEY_URL: url });
      assert.deepEqual(
        [...found.values()].filter(({ state }) => state === 'wrong'),
        [],
      );
      assert.equal(found.get('key')?.state, PARLEY_ROLE === 'all' ? 'note' : undefined);
      // Read from the database.
      assert.equal(found.get('model')?.message, 'ollama/x is set, without an API key.');
      await stop();
    }
  });

  it('quotes a server that does not answer like Parley, 1', async (t) => {
    const storage = await emptyStorage(t);
    const other = createHttpServer((_, response) =>
      response.writeHead(503).end('{"error":"Busy.","code":"overloaded"}'),
    );
    await new Promise<void>((done) => other.listen(0, '127.0.0.1', done));
    t.after(async () => void other.close());
    const { port } = other.address() as { port: number };
    const ran = await createCommandLine({ url: `http://127.0.0.1:${port}`, storage }, t).run([
      'doctor',
      '--json',
    ]);
    assert.equal(ran.code, 1);
    assert.match(String(findings(ran).get('service')?.message), /does not answer like Parley: Busy\./);
  });

  it('counts the processes of a cluster, and notices that no worker runs and that versions differ', async (t) => {
    const storage = await createStorage('postgres');
    t.after(() => storage.remove());
    const api = await startService({ storage }, t);
    const run = async () => findings(await createCommandLine(api, t).run(['doctor', '--json']));
    assert.match(String((await run()).get('workers')?.message), /^No process runs conversations/);
    const dataDir = join(storage.dataDir, 'worker');
    mkdirSync(dataDir);
    const env = {
      PARLEY_ROLE: 'worker',
      PARLEY_SLOTS: '7',
      SESSION_API_KEY: api.key,
      PARLEY_SECRET_KEY: readSecretKey(storage.dataDir),
    };
    await startService({ storage: { ...storage, dataDir }, env }, t);
    const found = await run();
    assert.equal(
      found.get('workers')?.message,
      'Processes that run conversations: 1 (7 slots); that answer requests: 1; machines: 2.',
    );
    assert.equal(found.get('versions'), undefined);
    // A process of another version that is alive for the time of this test.
    await inspect(
      storage,
      "insert into nodes (process_id, node_id, url, seen_at, version) select 'old', 'n', '', seen_at + 3600000, '0.0.9' from nodes limit 1",
    );
    assert.match(String((await run()).get('versions')?.message), /: 0\.0\.9, \d/);
  });

  it('checks only the service if it is on another machine, and PostgreSQL for its schema and clock', async (t) => {
    const storage = await createStorage('postgres');
    t.after(() => storage.remove());
    const service = await startService({ storage });
    const env = { DATABASE_URL: String(storage.databaseUrl), PARLEY_URL: '', ...quiet };
    const run = () => createCommandLine({ url: '', storage }, t, env).run(['doctor', '--json']);
    const found = statesOf(findings(await run()));
    await service.stop();
    assert.deepEqual([found['database'], found['clock']], ['ok', 'ok']);
    const away = createCommandLine({ url: '', storage }, t, {
      PARLEY_URL: 'http://parley.invalid',
      PARLEY_KEY: 'k',
    });
    const ran = await away.run(['doctor', '--json']);
    assert.deepEqual([ran.code, [...findings(ran).keys()]], [1, ['service']]);
  });
});

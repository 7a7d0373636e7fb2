import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { jsonLines } from '../support/commandLine.ts';
import { databaseKinds } from '../support/databases.ts';
import { createSite, type Service, type Site } from '../support/process.ts';
import { until } from '../support/until.ts';

const noticedWithinMs = 5_000;

interface CreatedKey {
  readonly id: string;
  readonly key: string;
}

async function run(site: Site, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await site.run(args);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function createKey(site: Site, ...flags: string[]): Promise<CreatedKey> {
  const key = (await run(site, 'keys', 'create', ...flags)).trimEnd();
  const [, id = ''] = /^pk_([0-9a-f]{16})_[\w-]{43}$/.exec(key) ?? [];
  assert.notEqual(id, '', key);
  return { id, key };
}

async function statusWith(service: Service, key: string): Promise<number> {
  return (await service.ask('/api/settings', { key })).status;
}

async function untilStatus(t: TestContext, service: Service, key: string, wanted: number): Promise<void> {
  const since = performance.now();
  const probe = async () => (await statusWith(service, key)) === wanted;
  await until(`the key is answered with ${wanted}`, probe, noticedWithinMs);
  t.diagnostic(`${wanted} after ${Math.round(performance.now() - since)} ms`);
}

for (const kind of databaseKinds) {
  describe(`the commands on ${kind}`, { timeout: 240_000 }, () => {
    it('create and revoke keys, soon while the service runs and at once while it is stopped', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve();
      const revoked = await createKey(site, '--user', 'ada', '--name', 'laptop');
      await untilStatus(t, service, revoked.key, 200);
      await run(site, 'keys', 'revoke', revoked.id);
      await untilStatus(t, service, revoked.key, 401);
      assert.equal(await statusWith(service, service.key), 200);

      // Without PORT the service is found by service.url in its data folder, and asked without a proxy.
      const bare = { env: { PORT: '', NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' } };
      const found = await site.run(['list', '--json'], bare);
      assert.deepEqual([found.code, found.stderr], [0, '']);
      service.send('SIGKILL');
      await service.ended();
      const gone = await site.run(['list', '--json'], bare);
      assert.deepEqual(
        [gone.code, /No running service uses the data folder/.test(gone.stderr)],
        [4, true],
        gone.stderr,
      );
      const kept = await createKey(site, '--user', 'ada', '--name', 'phone');
      const next = await site.serve();
      assert.equal(await statusWith(next, kept.key), 200);
      assert.equal(await statusWith(next, revoked.key), 401);

      const listed = await run(site, 'keys', 'list');
      assert.match(listed, new RegExp(`^${revoked.id} +ada +session +laptop +revoked `, 'm'));
      assert.match(listed, new RegExp(`^${kept.id} +ada +session +phone +- `, 'm'));
      for (const { key } of [revoked, kept, service]) assert.equal(listed.includes(key.slice(-43)), false);
      const users = jsonLines(await run(site, 'users', 'list', '--json')) as Record<string, unknown>[];
      assert.deepEqual(
        users.map(({ name, keys, state, is_admin }) => [name, keys, state, is_admin]),
        [
          ['ada', 1, 'active', false],
          ['owner', 1, 'active', true],
        ],
      );
    });
  });
}

describe('two services on one PostgreSQL', { timeout: 240_000 }, () => {
  it('both refuse a key soon after it is revoked through one of them, 401', async (t) => {
    const site = await createSite('postgres', t);
    const PARLEY_SECRET_KEY = randomBytes(32).toString('hex');
    const one = await site.serve({ env: { PARLEY_SECRET_KEY } });
    const other = await site.serve({ env: { PARLEY_SECRET_KEY, PARLEY_DATA_DIR: site.createDir() } });
    const made = await one.ask('/api/keys', { json: { name: 'shared' } });
    assert.equal(made.status, 201);
    const { id, key } = made.body as CreatedKey;
    assert.deepEqual([await statusWith(one, key), await statusWith(other, key)], [200, 200]);
    const gone = await one.ask(`/api/keys/${id}`, { method: 'DELETE' });
    assert.equal(gone.status, 200);
    assert.equal(await statusWith(one, key), 401);
    await untilStatus(t, other, key, 401);
    assert.equal(await statusWith(other, one.key), 200);
  });
});

describe('a usage error', { timeout: 240_000, concurrency: 2 }, () => {
  for (const args of [
    ['keys', 'create', '--kind', 'golden'],
    ['keys', 'create', '--nope'],
    ['keys', 'revoke', '0123456789abcdef'],
    ['users'],
    ['dance'],
  ]) {
    it(`is explained in one line, exit code 2: ${args.join(' ')}`, async (t) => {
      const site = await createSite('sqlite', t);
      const { code, stdout, stderr } = await site.run(args);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^parley: [^\n]+\n$/);
    });
  }
});

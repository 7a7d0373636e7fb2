import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { openKeyFile } from '../encryption/keyFile.ts';
import { createKeyring } from '../encryption/keyring.ts';

for (const kind of databaseKinds) {
  describe(`/api/secrets on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const list = async () => (await service.ask('/api/secrets')).body.custom_secrets;

    /** What is sealed under that name. */
    async function opened(name: string): Promise<string> {
      const [row] = await inspect(
        service.storage,
        `select user_id, sealed from secrets where kind = 'custom' and name = '${name}'`,
      );
      const ring = createKeyring(openKeyFile(service.storage.dataDir).read());
      return ring.decrypt(String(row?.['sealed']), ['secret', String(row?.['user_id']), 'custom', name]);
    }

    it('stores a secret, 201, lists its name, and never its value', async () => {
      const made = await service.ask('/api/secrets', {
        json: { name: 'DEPLOY', value: 'hush', description: 'd' },
      });
      assert.equal(made.status, 201);
      assert.deepEqual(await list(), [{ name: 'DEPLOY', description: 'd' }]);
      const { body } = await service.ask('/api/settings');
      assert.deepEqual(body.secrets_store.custom_secrets, { DEPLOY: { description: 'd' } });
    });

    it('answers a duplicate with 400 and a message', async () => {
      await service.ask('/api/secrets', { json: { name: 'TWICE', value: 'a' } });
      const { status, body } = await service.ask('/api/secrets', { json: { name: 'TWICE', value: 'b' } });
      assert.deepEqual([status, body.code, body.message], [400, 'secret_exists', body.error]);
    });

    it('describes and renames without touching the value, 200', async () => {
      await service.ask('/api/secrets', { json: { name: 'OLD', value: 'the value', description: 'x' } });
      const described = await service.ask('/api/secrets/OLD', {
        method: 'PUT',
        json: { name: 'OLD', description: 'y' },
      });
      assert.equal(described.status, 200);
      const renamed = await service.ask('/api/secrets/OLD', { method: 'PUT', json: { name: 'NEW' } });
      assert.equal(renamed.status, 200);
      const names = await list();
      assert.ok(
        names.some((s: { name: string; description: string }) => s.name === 'NEW' && s.description === 'y'),
      );
      assert.ok(!names.some((s: { name: string }) => s.name === 'OLD'));
      assert.equal(await opened('NEW'), 'the value');
      const taken = await service.ask('/api/secrets/NEW', { method: 'PUT', json: { name: 'DEPLOY' } });
      assert.equal(taken.status, 400);
    });

    it('replaces the value of a secret and renames it at once, 200, or does neither, 400 and 422', async () => {
      const value = () =>
        inspect(service.storage, "select name, sealed from secrets where name like 'CERT%'");
      const put = (name: string, json: object) =>
        service.ask(`/api/secrets/${name}`, { method: 'PUT', json });
      await service.ask('/api/secrets', { json: { name: 'CERT', value: 'old', description: 'kept' } });
      const [old] = await value();
      assert.equal((await put('CERT', { value: 'x'.repeat(70_000) })).status, 422);
      assert.equal((await put('CERT', { value: '' })).status, 422);
      assert.equal((await put('CERT', { name: 'DEPLOY', value: 'new' })).status, 400);
      assert.deepEqual(await value(), [old]);
      assert.equal((await put('CERT', { value: 'new' })).status, 200);
      const [replaced] = await value();
      assert.notEqual(replaced?.['sealed'], old?.['sealed']);
      assert.equal((await put('CERT', { name: 'CERT_2', value: 'newer' })).status, 200);
      assert.deepEqual(
        (await value()).map((row) => row['name']),
        ['CERT_2'],
      );
      assert.ok((await list()).some((s: object) => 'description' in s && s.description === 'kept'));
      assert.equal(await opened('CERT_2'), 'newer');
    });

    it('deletes, 200, and does not know what is gone, 404', async () => {
      await service.ask('/api/secrets', { json: { name: 'GONE', value: 'a' } });
      assert.equal((await service.ask('/api/secrets/GONE', { method: 'DELETE' })).status, 200);
      assert.equal((await service.ask('/api/secrets/GONE', { method: 'DELETE' })).status, 404);
      assert.equal((await service.ask('/api/secrets/GONE', { method: 'PUT', json: {} })).status, 404);
    });

    it('refuses bad names and empty values, 422', async () => {
      for (const name of ['', '1A', 'A-B', 'A B', '__proto__', 'A'.repeat(65)])
        assert.equal((await service.ask('/api/secrets', { json: { name, value: 'v' } })).status, 422, name);
      assert.equal((await service.ask('/api/secrets', { json: { name: 'A', value: '' } })).status, 422);
    });

    it('keeps the secrets of two users apart', async () => {
      const { body } = await service.ask('/api/keys', { json: { name: 'k', user: 'other' } });
      assert.equal(
        (await service.ask('/api/secrets', { key: body.key, json: { name: 'DEPLOY', value: 'x' } })).status,
        201,
      );
      const mine = await service.ask('/api/secrets', { key: body.key });
      assert.deepEqual(mine.body.custom_secrets, [{ name: 'DEPLOY', description: null }]);
    });

    it('makes every one of many concurrent secrets', async () => {
      const names = Array.from({ length: 12 }, (_, i) => `MANY_${i}`);
      const made = await Promise.all(
        names.map((name) => service.ask('/api/secrets', { json: { name, value: 'v' } })),
      );
      assert.ok(made.every(({ status }) => status === 201));
      const listed = (await list()).map(({ name }: { name: string }) => name);
      assert.ok(names.every((name) => listed.includes(name)));
    });

    it('stores provider tokens with their hosts, keeps a token sent empty, and forgets all', async () => {
      const add = (provider_tokens: unknown) =>
        service.ask('/api/add-git-providers', { json: { provider_tokens } });
      const set = async () => (await service.ask('/api/settings')).body.provider_tokens_set;
      assert.equal(
        (
          await add({
            github: { token: 't1', host: '' },
            gitlab: { token: 't2', host: 'https://Git.Example.com/' },
          })
        ).status,
        200,
      );
      assert.deepEqual(await set(), { github: null, gitlab: 'git.example.com' });
      const before = await inspect(service.storage, "select sealed from secrets where name = 'github'");
      await add({ github: { token: '', host: 'ghe.example.com:8443' }, bitbucket: { token: '' } });
      await add({ github: { token: '**********' } });
      assert.deepEqual(await set(), { github: 'ghe.example.com:8443', gitlab: 'git.example.com' });
      const after = await inspect(service.storage, "select sealed from secrets where name = 'github'");
      assert.deepEqual(after, before);
      assert.equal((await add({ sourcehut: { token: 'x' } })).status, 422);
      assert.equal((await add({ github: { token: 'x', host: 'a b' } })).status, 422);
      assert.equal((await service.ask('/api/unset-provider-tokens', { method: 'POST' })).status, 200);
      assert.deepEqual(await set(), {});
    });

    it('forgets the token of one provider, 200, and does not know one without, 404', async () => {
      const remove = (provider: string) =>
        service.ask(`/api/git-providers/${provider}`, { method: 'DELETE' });
      const provider_tokens = { github: { token: 't1' }, gitlab: { token: 't2', host: 'git.example.com' } };
      await service.ask('/api/add-git-providers', { json: { provider_tokens } });
      assert.equal((await remove('github')).status, 200);
      assert.equal((await remove('github')).status, 404);
      assert.equal((await remove('sourcehut')).status, 404);
      assert.deepEqual((await service.ask('/api/settings')).body.provider_tokens_set, {
        gitlab: 'git.example.com',
      });
    });

    it('writes an audit of names, keys and users, and never a value', async () => {
      await service.ask('/api/settings', {
        json: { llm_model: 'secret-model-name', llm_api_key: 'secret-key' },
      });
      const rows = await inspect(service.storage, 'select action, subject, key_id from audit order by id');
      const seen = rows.map((row) => `${row['action']} ${row['subject']}`);
      for (const expected of [
        'settings.change llm_model',
        'settings.change llm_api_key',
        'secret.set DEPLOY',
        'secret.remove GONE',
        'secret.set provider_token github',
        'secret.remove provider_token github',
      ])
        assert.ok(seen.includes(expected), `${expected} in ${seen.join(', ')}`);
      assert.ok(seen.some((entry) => entry.startsWith('key.create ')));
      assert.ok(
        !JSON.stringify(rows).includes('secret-model-name') && !JSON.stringify(rows).includes('hush'),
      );
    });
  });
}

describe('/api/options', () => {
  it('offers models, agents and analyzers as lists of names, and the configuration of clients, 200', async (t) => {
    const service = await startService({}, t);
    const models = (await service.ask('/api/options/models')).body;
    assert.ok(models.length > 50 && models.every((name: unknown) => typeof name === 'string'));
    assert.ok(!models.includes('anthropic/claude-3-opus-20240229'), 'what is no longer offered is left out');
    assert.ok((await service.ask('/api/options/agents')).body.includes('CodeActAgent'));
    assert.ok(Array.isArray((await service.ask('/api/options/security-analyzers')).body));
    assert.deepEqual((await service.ask('/api/options/config', { key: null })).body, {
      APP_MODE: 'oss',
      GITHUB_CLIENT_ID: null,
      POSTHOG_CLIENT_KEY: '',
      FEATURE_FLAGS: {},
    });
  });

  it('no longer offers a reset of settings, 410', async (t) => {
    const service = await startService({}, t);
    assert.equal((await service.ask('/api/reset-settings', { method: 'POST' })).status, 410);
  });
});

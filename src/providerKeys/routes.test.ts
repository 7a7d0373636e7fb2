import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';

const path = '/api/provider-keys';

for (const kind of databaseKinds) {
  describe(`/api/provider-keys on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const put = (provider: string, json: unknown, key?: string) =>
      service.ask(`${path}/${provider}`, { method: 'PUT', json, ...(key === undefined ? {} : { key }) });
    const setProviders = async (key?: string) => {
      const { body } = await service.ask(path, key === undefined ? {} : { key });
      return body.provider_keys
        .filter((one: { is_set: boolean }) => one.is_set)
        .map((one: { provider: string }) => one.provider);
    };

    it('stores, replaces, shows and deletes a key without ever returning it, 200', async () => {
      assert.deepEqual(await setProviders(), []);
      for (const api_key of ['sk-first-canary', 'sk-second-canary']) {
        const { status, body } = await put('openai', { api_key });
        assert.deepEqual([status, body], [200, { provider: 'openai', is_set: true, is_required: true }]);
      }
      assert.deepEqual(await setProviders(), ['openai']);
      assert.deepEqual((await service.ask(`${path}/openai`)).body, {
        provider: 'openai',
        is_set: true,
        is_required: true,
      });
      assert.deepEqual((await service.ask(`${path}/gemini`)).body, {
        provider: 'gemini',
        is_set: false,
        is_required: true,
      });
      const rows = await inspect(service.storage, "select * from secrets where kind = 'provider_key'");
      assert.equal(rows.length, 1);
      const removed = await service.ask(`${path}/openai`, { method: 'DELETE' });
      assert.deepEqual(
        [removed.status, removed.body],
        [200, { provider: 'openai', is_set: false, is_required: true }],
      );
      assert.equal((await service.ask(`${path}/openai`, { method: 'DELETE' })).status, 404);
      assert.deepEqual(await setProviders(), []);
      for (const text of [JSON.stringify(rows), service.logs()]) assert.doesNotMatch(text, /canary/);
    });

    it('lists the providers that have a URL of their own, and no others, 404', async () => {
      const { body } = await service.ask(path);
      const names = body.provider_keys.map((one: { provider: string }) => one.provider);
      assert.ok(names.includes('anthropic') && names.includes('ollama'));
      assert.ok(!names.includes('litellm_proxy'));
      assert.equal((await service.ask(`${path}/ollama`)).body.is_required, false);
      for (const unknown of ['nobody', 'litellm_proxy', '__proto__', 'constructor']) {
        const { status, body: error } = await put(unknown, { api_key: 'sk' });
        assert.deepEqual([status, error.code], [404, 'not_found']);
        assert.match(error.error, /Known providers: anthropic, openai/);
        assert.equal((await service.ask(`${path}/${unknown}`)).status, 404);
      }
    });

    it('refuses values that no header can carry, masks and other fields, 422', async () => {
      const bad = [{}, { api_key: '' }, { api_key: 'a b' }, { api_key: 'a\nb' }, { api_key: 'ä' }];
      const worse = [{ api_key: null }, { api_key: '**********' }, { api_key: 'x'.repeat(5_000) }];
      for (const json of [...bad, ...worse, { api_key: 'sk', more: 1 }])
        assert.equal((await put('openai', json)).status, 422, JSON.stringify(json).slice(0, 40));
    });

    it('belongs to one user, and needs the scopes of the settings, 403', async () => {
      const make = async (more: object) =>
        (await service.ask('/api/keys', { json: { name: 'k', ...more } })).body.key as string;
      const bob = await make({ user: 'bob' });
      await put('xai', { api_key: 'sk-of-bob' }, bob);
      assert.deepEqual([await setProviders(bob), await setProviders()], [['xai'], []]);
      const reader = await make({ scopes: ['settings:read'] });
      assert.equal((await service.ask(path, { key: reader })).status, 200);
      assert.equal((await put('xai', { api_key: 'sk' }, reader)).status, 403);
      const other = await make({ scopes: ['conversations:write', 'conversations:read'] });
      assert.equal((await service.ask(path, { key: other })).status, 403);
      const token = (await service.ask('/api/keys', { json: { name: 'k', kind: 'bearer' } })).body.key;
      assert.notEqual((await service.ask(path, { key: null, bearer: token })).status, 200);
    });

    it('is in the audit log by name', async () => {
      await put('groq', { api_key: 'sk-audited' });
      await service.ask(`${path}/groq`, { method: 'DELETE' });
      const rows = await inspect(
        service.storage,
        "select action, subject from audit where subject = 'provider_key groq' order by id",
      );
      assert.deepEqual(
        rows.map(({ action }) => action),
        ['secret.set', 'secret.remove'],
      );
    });

    it('is not part of the settings, whose ETag changes with it', async () => {
      const before = await service.ask('/api/settings');
      await put('mistral', { api_key: 'sk' });
      const now = await service.ask('/api/settings');
      assert.deepEqual(now.body, before.body);
      assert.notEqual(now.headers.get('etag'), before.headers.get('etag'));
    });
  });
}

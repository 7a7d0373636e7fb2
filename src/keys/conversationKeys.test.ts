import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { readConfig } from '../config.ts';

async function create({ ask }: TestService, key?: string) {
  const { body } = await ask('/api/conversations', { json: {}, ...(key === undefined ? {} : { key }) });
  const id: string = body.conversation_id;
  const info = (await ask(`/api/conversations/${id}`, key === undefined ? {} : { key })).body;
  return { id, info, key: info.session_api_key as string };
}

for (const kind of databaseKinds) {
  describe(`the API key of a conversation on ${kind}`, () => {
    it('works on the routes of that conversation alone', async (t) => {
      const service = await startService({ kind }, t);
      const { id, info, key } = await create(service);
      const other = await create(service);
      assert.match(key, /^pc_[0-9a-f]{16}_[0-9a-f]{32}_[\w-]{43}$/);
      assert.equal(info.url, `${service.url}/api/conversations/${id}`);
      const listed = (await service.ask('/api/conversations')).body.results;
      assert.deepEqual(
        listed.map((one: { session_api_key: string }) => one.session_api_key),
        [other.key, key],
      );
      const allowed = [`/api/conversations/${id}`, `/api/conversations/${id}/events`];
      for (const path of allowed) assert.equal((await service.ask(path, { key })).status, 200, path);
      assert.equal(
        (await service.ask(`/api/conversations/${id}/message`, { key, json: { message: 'hello' } })).status,
        200,
      );
      const refused = [
        '/api/settings',
        '/api/me',
        '/api/conversations',
        '/api/events/stream',
        '/api/keys',
        `/api/conversations/${other.id}`,
        `/api/conversations/${other.id}/events`,
      ];
      for (const path of refused) {
        const { status, body } = await service.ask(path, { key });
        assert.deepEqual([status, body.code], [403, 'forbidden'], path);
      }
    });

    it('has the scopes of the key that asked, and is revoked with it', async (t) => {
      const service = await startService({ kind }, t);
      const { id } = await create(service);
      const { body: reader } = await service.ask('/api/keys', {
        json: { name: 'reader', scopes: ['conversations:read'] },
      });
      const { session_api_key: key } = (await service.ask(`/api/conversations/${id}`, { key: reader.key }))
        .body;
      const path = `/api/conversations/${id}`;
      assert.equal((await service.ask(path, { key })).status, 200);
      assert.equal((await service.ask(`${path}/message`, { key, json: { message: 'no' } })).status, 403);
      await service.ask(`/api/keys/${reader.id}`, { method: 'DELETE' });
      assert.equal((await service.ask(path, { key })).status, 401);
    });

    it('ends with the conversation, and does not open a new one of the same id', async (t) => {
      const service = await startService({ kind }, t);
      const json = { conversation_id: 'ä/1'.replace('/', '~'), initial_user_msg: 'one' };
      const path = `/api/conversations/${encodeURIComponent(json.conversation_id)}`;
      await service.ask('/api/conversations', { json });
      const { session_api_key: key } = (await service.ask(path)).body;
      assert.equal((await service.ask(path, { key })).status, 200);
      await service.ask(path, { method: 'DELETE' });
      assert.equal((await service.ask(path, { key })).status, 401);
      await service.ask('/api/conversations', { json });
      assert.equal((await service.ask(path, { key })).status, 401);
    });

    it('cannot be forged, moved to another user or sent as Bearer', async (t) => {
      const service = await startService({ kind }, t);
      const { id, key } = await create(service);
      const other = await create(service);
      const mac = key.slice(-43);
      const keyId = key.split('_')[1];
      const { body: user } = await service.ask('/api/keys', { json: { name: 'ann', user: 'ann' } });
      const forged = [
        `pc_${keyId}_${other.id}_${mac}`,
        `pc_${user.id}_${id}_${mac}`,
        `pc_${keyId}_${id}_${'A'.repeat(43)}`,
        `pc_${keyId}_${id}_`,
        `pc_${keyId}_%E0%A4%A_${mac}`,
        `pc__${id}_${mac}`,
        'pc_',
      ];
      for (const text of forged)
        assert.equal((await service.ask(`/api/conversations/${id}`, { key: text })).status, 401, text);
      assert.equal((await service.ask(`/api/conversations/${id}`, { bearer: key })).status, 401);
    });
  });
}

describe('a key that is accepted as Bearer', () => {
  it('works on every route in either header, and reads the reduced settings as Bearer', async (t) => {
    const service = await startService({}, t);
    const { body } = await service.ask('/api/keys', { json: { name: 'script', bearer: true } });
    assert.equal(body.bearer, true);
    const plain = (await service.ask('/api/keys', { json: { name: 'plain' } })).body;
    assert.equal(plain.bearer, false);
    for (const path of ['/api/conversations', '/api/options/models', '/api/me']) {
      assert.equal((await service.ask(path, { bearer: body.key })).status, 200, path);
      assert.equal((await service.ask(path, { key: body.key })).status, 200, path);
    }
    const created = await service.ask('/api/conversations', { bearer: body.key, json: {} });
    assert.equal(created.status, 200);
    assert.equal((await service.ask('/api/conversations', { bearer: plain.key, json: {} })).status, 401);
    const reduced = (await service.ask('/api/settings', { bearer: body.key })).body;
    const full = (await service.ask('/api/settings', { key: body.key })).body;
    assert.deepEqual([Object.keys(reduced).length, 'secrets_store' in full], [12, true]);
  });

  it('is refused with 422 for a bearer token', async (t) => {
    const service = await startService({}, t);
    const { status, body } = await service.ask('/api/keys', {
      json: { name: 'token', kind: 'bearer', bearer: true },
    });
    assert.deepEqual([status, body.details[0].path], [422, 'bearer']);
  });
});

describe('PARLEY_WITHOUT_KEY=1', () => {
  it('lets requests without a key act as the owner, but not with a wrong one or from other web pages', async (t) => {
    const service = await startService({ env: { PARLEY_WITHOUT_KEY: '1' } }, t);
    assert.equal((await service.ask('/api/conversations', { key: null, json: {} })).status, 200);
    assert.equal((await service.ask('/api/settings', { key: null })).status, 200);
    assert.equal((await service.ask('/api/keys', { key: null })).status, 403);
    assert.equal((await service.ask('/api/settings', { key: 'wrong' })).status, 401);
    assert.equal((await service.ask('/api/settings', { bearer: 'wrong' })).status, 401);
    const headers = { origin: 'https://evil.example' };
    assert.equal((await service.ask('/api/settings', { key: null, headers })).status, 403);
    assert.match(service.logs(), /without an API key/);
  });

  it('is refused where others than programs of this machine could reach the service', () => {
    const start = (env: Record<string, string>) => () => readConfig({ PARLEY_WITHOUT_KEY: '1', ...env });
    for (const env of [
      { HOST: '0.0.0.0' },
      { PARLEY_PUBLIC_URL: 'https://parley.example' },
      { PARLEY_TRUST_PROXY: '1' },
      { PARLEY_ALLOWED_HOSTS: 'localhost:3000,parley.example' },
    ])
      assert.throws(start(env), /PARLEY_WITHOUT_KEY=1 works only on loopback/);
    assert.doesNotThrow(start({ PARLEY_ALLOWED_HOSTS: 'localhost:3000' }));
  });
});

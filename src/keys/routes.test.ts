import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

for (const kind of databaseKinds) {
  describe(`/api/keys on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const make = (json: unknown, key?: string) =>
      service.ask('/api/keys', { json, ...(key === undefined ? {} : { key }) });

    it('makes a session key with the usual scopes and shows it once, 201', async () => {
      const { status, body } = await make({ name: 'laptop' });
      assert.equal(status, 201);
      assert.match(body.key, /^pk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
      assert.deepEqual(body.scopes, [
        'settings:read',
        'settings:write',
        'conversations:read',
        'conversations:write',
        'webhooks:manage',
      ]);
      assert.deepEqual(
        [body.kind, body.user, body.expires_at, body.revoked_at],
        ['session', 'owner', null, null],
      );
      const list = await service.ask('/api/keys');
      assert.ok(list.body.keys.some(({ id }: { id: string }) => id === body.id));
      assert.ok(!list.text.includes(body.key) && !list.text.includes('hash'));
    });

    it('says whose key it is, whatever its scopes', async () => {
      const { body } = await make({ name: 'reader', user: 'ada', scopes: ['conversations:read'] });
      const { status, body: me } = await service.ask('/api/me', { key: body.key });
      assert.equal(status, 200);
      assert.deepEqual(me, {
        user: 'ada',
        key_id: body.id,
        key_name: 'reader',
        scopes: ['conversations:read'],
        expires_at: null,
      });
      assert.equal((await service.ask('/api/me', { key: null })).status, 401);
      assert.equal((await service.ask('/api/me', { key: null, bearer: body.key })).status, 401);
    });

    it('stores the hash of a key and not the key', async () => {
      const { body } = await make({ name: 'hashed' });
      const rows = await inspect(service.storage, `select * from keys where id = '${body.id}'`);
      assert.match(String(rows[0]?.['hash']), /^[0-9a-f]{64}$/);
      assert.ok(!JSON.stringify(rows).includes(body.key.slice(20)));
    });

    it('makes a bearer token that reads the reduced settings and nothing else', async () => {
      const { body } = await make({ name: 'status page', kind: 'bearer' });
      assert.match(body.key, /^pt_/);
      const settings = await service.ask('/api/settings', { key: null, bearer: body.key });
      assert.deepEqual([settings.status, Object.keys(settings.body).length], [200, 12]);
      assert.equal((await service.ask('/api/settings', { key: body.key })).status, 401);
      assert.equal((await service.ask('/api/keys', { key: null, bearer: body.key })).status, 401);
      const scoped = await make({ name: 'x', kind: 'bearer', scopes: ['admin'] });
      assert.deepEqual([scoped.status, scoped.body.details[0].path], [422, 'scopes']);
    });

    it('refuses what the scopes of a key do not cover, 403', async () => {
      const { body } = await make({ name: 'writer', scopes: ['conversations:write'] });
      assert.equal((await service.ask('/api/conversations', { json: {}, key: body.key })).status, 200);
      for (const path of ['/api/settings', '/api/keys']) {
        const refused = await service.ask(path, { key: body.key });
        assert.deepEqual([refused.status, refused.body.code], [403, 'forbidden']);
      }
      const none = await make({ name: 'none', scopes: [] });
      assert.equal((await service.ask('/api/settings', { key: none.body.key })).status, 403);
    });

    it('lets a key grant only what it holds, and keys for others only with admin, 403', async () => {
      const manager = await make({ name: 'manager', scopes: ['keys:manage', 'settings:read'] });
      const key = manager.body.key;
      assert.equal((await make({ name: 'x', scopes: ['settings:read'] }, key)).status, 201);
      assert.equal((await make({ name: 'x', scopes: ['admin'] }, key)).status, 403);
      assert.equal((await make({ name: 'x' }, key)).status, 403);
      const foreign = await make({ name: 'x', scopes: ['settings:read'], user: 'bob' }, key);
      assert.equal(foreign.status, 403);
    });

    it('makes a user with the first key, who sees and revokes own keys alone', async () => {
      const admin = await make({ name: 'first', user: 'carol', scopes: ['keys:manage', 'settings:read'] });
      assert.deepEqual([admin.status, admin.body.user], [201, 'carol']);
      const list = await service.ask('/api/keys', { key: admin.body.key });
      assert.deepEqual(
        list.body.keys.map(({ user }: { user: string }) => user),
        ['carol'],
      );
      const mine = await make({ name: 'mine' });
      const foreign = await service.ask(`/api/keys/${mine.body.id}`, {
        method: 'DELETE',
        key: admin.body.key,
      });
      const unknown = await service.ask('/api/keys/0000000000000000', {
        method: 'DELETE',
        key: admin.body.key,
      });
      assert.deepEqual([foreign.status, unknown.status], [404, 404]);
      assert.equal(foreign.body.error, unknown.body.error);
      assert.equal((await service.ask('/api/settings', { key: mine.body.key })).status, 200);
    });

    it('lets no key revoke one that may do more, 403, or outlive itself through another', async () => {
      const soon = new Date(Date.now() + 3_600_000).toISOString();
      const scopes = ['keys:manage', 'settings:read'];
      const { body: limited } = await make({ name: 'limited', scopes, expires_at: soon });
      const { body: stronger } = await make({ name: 'stronger' });
      const revoked = await service.ask(`/api/keys/${stronger.id}`, { method: 'DELETE', key: limited.key });
      assert.deepEqual([revoked.status, revoked.body.code], [403, 'forbidden']);
      assert.equal((await service.ask('/api/settings', { key: stronger.key })).status, 200);
      const child = await make({ name: 'child', scopes }, limited.key);
      assert.deepEqual([child.status, child.body.expires_at], [201, soon]);
      const later = new Date(Date.now() + 7_200_000).toISOString();
      const forever = await make({ name: 'forever', scopes, expires_at: later }, limited.key);
      assert.deepEqual([forever.status, forever.body.details[0].path], [422, 'expires_at']);
    });

    it('refuses a name with control characters, and ids that are none, without a 5xx', async () => {
      assert.equal((await make({ name: 'a\u001b[31m' })).status, 422);
      for (const id of ['%00', 'x', '..%2f'])
        assert.equal((await service.ask(`/api/keys/${id}`, { method: 'DELETE' })).status, 404);
    });

    it('ends a revoked key at once, and a second revocation changes nothing, 200', async () => {
      const { body } = await make({ name: 'short' });
      assert.equal((await service.ask('/api/settings', { key: body.key })).status, 200);
      const revoked = await service.ask(`/api/keys/${body.id}`, { method: 'DELETE' });
      assert.equal(revoked.status, 200);
      assert.notEqual(revoked.body.revoked_at, null);
      assert.equal((await service.ask('/api/settings', { key: body.key })).status, 401);
      const again = await service.ask(`/api/keys/${body.id}`, { method: 'DELETE' });
      assert.equal(again.body.revoked_at, revoked.body.revoked_at);
    });

    it('refuses an expiry in the past or without sense, 422, and an expired key, 401', async () => {
      for (const expires_at of ['2001-01-01T00:00:00Z', 'soon']) {
        const { status, body } = await make({ name: 'x', expires_at });
        assert.deepEqual([status, body.details[0].path], [422, 'expires_at']);
      }
      const soon = await make({ name: 'x', expires_at: new Date(Date.now() + 60_000).toISOString() });
      assert.equal((await service.ask('/api/settings', { key: soon.body.key })).status, 200);
      await inspect(service.storage, `update keys set expires_at = 1 where id = '${soon.body.id}'`);
      await until(
        'it is refused',
        async () => (await service.ask('/api/settings', { key: soon.body.key })).status === 401,
      );
    });

    it('records when a key was last used', async () => {
      const { body } = await make({ name: 'used' });
      await service.ask('/api/settings', { key: body.key });
      const { body: list } = await service.ask('/api/keys');
      const record = list.keys.find(({ id }: { id: string }) => id === body.id);
      assert.ok(Math.abs(Date.parse(record.last_used_at) - Date.now()) < 60_000);
    });

    it('answers a missing, malformed, unknown, expired and revoked credential with the same 401', async () => {
      const revoked = (await make({ name: 'x' })).body;
      await service.ask(`/api/keys/${revoked.id}`, { method: 'DELETE' });
      const unknown = `pk_${'0'.repeat(16)}_${'A'.repeat(43)}`;
      const wrongSecret = `pk_${revoked.id}_${'A'.repeat(43)}`;
      const answers = await Promise.all(
        [null, 'x', unknown, revoked.key, wrongSecret].map((key) => service.ask('/api/settings', { key })),
      );
      const seen = answers.map(({ status, headers, body: { request_id: _, ...rest } }) =>
        JSON.stringify([status, headers.get('www-authenticate'), rest]),
      );
      assert.equal(new Set(seen).size, 1, seen.join('\n'));
      assert.equal(answers[0]?.status, 401);
    });
  });
}

describe('credentials of the environment', () => {
  it('are the key and the token of the owner, and no other owner key is made', async (t) => {
    const env = { SESSION_API_KEY: 'preset-session-key', PARLEY_AUTH_TOKEN: 'preset-auth-token' };
    const service = await startService({ env }, t);
    assert.equal(service.app.ownerKey, undefined);
    const full = await service.ask('/api/settings', { key: 'preset-session-key' });
    const reduced = await service.ask('/api/settings', { key: null, bearer: 'preset-auth-token' });
    assert.deepEqual([Object.keys(full.body).length, Object.keys(reduced.body).length], [28, 12]);
    assert.equal((await service.ask('/api/keys')).status, 200);
    assert.equal((await service.ask('/api/settings', { key: 'preset-auth-token' })).status, 401);
  });

  it('count as a session key where both hold the same text', async (t) => {
    const env = { SESSION_API_KEY: 'the-same-text', PARLEY_AUTH_TOKEN: 'the-same-text' };
    const service = await startService({ env }, t);
    assert.equal((await service.ask('/api/conversations', { json: {} })).status, 200);
    const reduced = await service.ask('/api/settings', { key: null, bearer: 'the-same-text' });
    assert.equal(Object.keys(reduced.body).length, 12);
  });

  it('are taken as Bearer on every route with PARLEY_ACCEPT_BEARER=1, settings still reduced', async (t) => {
    const env = {
      SESSION_API_KEY: 'preset-session-key',
      PARLEY_AUTH_TOKEN: 'preset-auth-token',
      PARLEY_ACCEPT_BEARER: '1',
    };
    const service = await startService({ env }, t);
    const created = await service.ask('/api/conversations', {
      json: {},
      key: null,
      bearer: 'preset-session-key',
    });
    assert.equal(created.status, 200);
    const [row] = await inspect(service.storage, 'select trigger from conversations');
    assert.equal(row?.['trigger'], 'openhands_api');
    const settings = await service.ask('/api/settings', { key: null, bearer: 'preset-session-key' });
    assert.equal(Object.keys(settings.body).length, 12);
    const token = await service.ask('/api/conversations', {
      json: {},
      key: null,
      bearer: 'preset-auth-token',
    });
    assert.equal(token.status, 403);
  });
});

describe('the owner key', () => {
  it('is made once, kept in a file for the owner alone, and works after a restart', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    const first = await startService({ storage });
    assert.equal(first.app.ownerKey?.made, first.key);
    for (const file of ['owner.key', 'secret.key'])
      assert.equal(statSync(`${storage.dataDir}/${file}`).mode & 0o777, 0o600);
    await first.stop();
    const second = await startService({ storage });
    assert.equal(second.app.ownerKey?.made, undefined);
    assert.equal((await second.ask('/api/settings', { key: first.key })).status, 200);
    await second.stop();
  });

  it('is made anew where every session key has been revoked', async (t) => {
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    const first = await startService({ storage });
    await first.stop();
    await inspect(storage, 'update keys set revoked_at = 1');
    const second = await startService({ storage });
    assert.notEqual(second.key, first.key);
    assert.equal((await second.ask('/api/settings')).status, 200);
    assert.equal((await second.ask('/api/settings', { key: first.key })).status, 401);
    await second.stop();
  });
});

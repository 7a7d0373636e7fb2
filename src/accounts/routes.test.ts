import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { openStream, untilClosed } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';

const preset = 'the-key-of-the-environment';

for (const kind of databaseKinds)
  describe(`/api/users on ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await startService({ kind });
    });
    after(() => service.stop());

    const change = (name: string, json: unknown, key?: string) =>
      service.ask(`/api/users/${name}`, { method: 'PATCH', json, ...(key === undefined ? {} : { key }) });
    const remove = (name: string) => service.ask(`/api/users/${name}`, { method: 'DELETE' });
    const restore = (name: string) => service.ask(`/api/users/${name}/restore`, { method: 'POST' });
    const makeKey = async (user: string, scopes?: string[]): Promise<string> =>
      (await service.ask('/api/keys', { json: { name: 'k', user, scopes } })).body.key;
    const settingsStatus = async (key: string) => (await service.ask('/api/settings', { key })).status;

    it('creates, reads and lists users, 201 and 200', async () => {
      const created = await service.ask('/api/users', { json: { name: 'ada' } });
      assert.equal(created.status, 201);
      assert.deepEqual(
        { ...created.body, created_at: '' },
        {
          name: 'ada',
          state: 'active',
          is_admin: false,
          keys: 0,
          created_at: '',
          disabled_at: null,
          removed_at: null,
          purge_at: null,
          budget_day_usd: null,
          budget_month_usd: null,
          spending: created.body.spending,
        },
      );
      assert.deepEqual(
        [created.body.spending.day.spent_usd, created.body.spending.month.budget_usd],
        [0, null],
      );
      await makeKey('ada');
      assert.equal((await service.ask('/api/users/ada')).body.keys, 1);
      const { users } = (await service.ask('/api/users')).body;
      assert.deepEqual(
        users.map((user: { name: string; is_admin: boolean }) => [user.name, user.is_admin]),
        [
          ['ada', false],
          ['owner', true],
        ],
      );
    });

    it('refuses a name that exists, 409, or is not valid, 422, and an unknown user, 404', async () => {
      const taken = await service.ask('/api/users', { json: { name: 'ada' } });
      assert.deepEqual([taken.status, taken.body.code], [409, 'user_exists']);
      for (const name of ['', '#1', 'a b', '-', 'a/b'])
        assert.equal((await service.ask('/api/users', { json: { name } })).status, 422, name);
      assert.equal((await service.ask('/api/users/nobody')).status, 404);
      assert.equal((await change('nobody', { disabled: true })).status, 404);
      assert.equal((await remove('nobody')).status, 404);
      assert.equal((await restore('nobody')).status, 404);
      assert.equal((await change('ada', { name: 'x', disabled: true })).status, 422);
    });

    it('needs the scope admin, 403, and a key, 401, for every route', async () => {
      const key = await makeKey('ada', [
        'settings:read',
        'settings:write',
        'conversations:read',
        'conversations:write',
        'webhooks:manage',
        'keys:manage',
      ]);
      const routes: [string, string][] = [
        ['GET', '/api/users'],
        ['POST', '/api/users'],
        ['GET', '/api/users/owner'],
        ['PATCH', '/api/users/owner'],
        ['DELETE', '/api/users/owner'],
        ['POST', '/api/users/owner/restore'],
      ];
      for (const [method, path] of routes) {
        const json = method === 'POST' || method === 'PATCH' ? { json: {} } : {};
        assert.equal((await service.ask(path, { method, key, ...json })).status, 403, `${method} ${path}`);
        assert.equal((await service.ask(path, { method, key: null, ...json })).status, 401);
      }
    });

    it('renames a user, whose keys go on working, and refuses a taken name, 409', async () => {
      const key = await makeKey('bob');
      assert.equal((await change('bob', { name: 'robert' })).body.name, 'robert');
      assert.equal((await service.ask('/api/me', { key })).body.user, 'robert');
      assert.equal((await service.ask('/api/users/bob')).status, 404);
      assert.equal((await change('robert', { name: 'robert' })).status, 200);
      for (const name of ['ada', 'owner']) {
        const taken = await change('robert', { name });
        assert.deepEqual([taken.status, taken.body.code], [409, 'user_exists']);
      }
      const owner = await change('owner', { name: 'boss' });
      assert.deepEqual([owner.status, owner.body.code], [409, 'owner_protected']);
    });

    it('sets the budgets of a user, 200, and refuses others, 422', async () => {
      const set = await change('ada', { budget_day_usd: 2.5, budget_month_usd: 0 });
      assert.deepEqual([set.status, set.body.budget_day_usd, set.body.budget_month_usd], [200, 2.5, 0]);
      assert.deepEqual([set.body.spending.day.budget_usd, set.body.spending.month.budget_usd], [2.5, null]);
      assert.equal((await change('ada', { budget_day_usd: null })).body.budget_day_usd, null);
      for (const budget_day_usd of [-1, 1e9, '5'])
        assert.equal((await change('ada', { budget_day_usd })).status, 422);
      const tiny = await change('ada', { budget_day_usd: 1e-10 });
      assert.equal(tiny.body.spending.day.budget_usd, 1e-9, 'not rounded to 0, which means no limit');
      await change('ada', { budget_day_usd: null });
      const audit = "select subject from audit where action = 'user.budget' order by id";
      assert.deepEqual(
        (await inspect(service.storage, audit)).map(({ subject }) => subject),
        ['day 2.5 month none', 'day default', 'day 1e-9', 'day default'],
      );
    });

    it('keeps a disabled user out at once, ends streams, stops conversations, and lets them in again', async () => {
      const key = await makeKey('carol');
      const bearer = (await service.ask('/api/keys', { json: { name: 'b', user: 'carol', kind: 'bearer' } }))
        .body.key;
      assert.equal(await settingsStatus(key), 200);
      const { conversation_id: id } = (await service.ask('/api/conversations', { json: {}, key })).body;
      const stream = await openStream(service.url, `/api/conversations/${id}/events/stream`, { key });
      const disabled = await change('carol', { disabled: true });
      assert.deepEqual([disabled.status, disabled.body.state], [200, 'disabled']);
      assert.equal(await settingsStatus(key), 401);
      assert.equal((await service.ask('/api/settings', { key: null, bearer })).status, 401);
      await untilClosed(stream);
      const [stored] = await inspect(
        service.storage,
        `select status, stop_code from conversations where id = '${id}'`,
      );
      assert.deepEqual({ ...stored }, { status: 'STOPPED', stop_code: 'user_inactive' });
      const refused = await service.ask('/api/keys', { json: { name: 'k', user: 'carol' } });
      assert.deepEqual([refused.status, refused.body.code], [409, 'user_inactive']);
      assert.equal((await change('carol', { disabled: true })).status, 200);
      assert.equal((await change('carol', { disabled: false })).body.state, 'active');
      assert.equal(await settingsStatus(key), 200);
    });

    it('removes a user, who can be restored, and keeps the name taken until then', async () => {
      const key = await makeKey('dave');
      const removed = await remove('dave');
      assert.deepEqual([removed.status, removed.body.state], [200, 'removed']);
      const days = (Date.parse(removed.body.purge_at) - Date.parse(removed.body.removed_at)) / 86_400_000;
      assert.equal(days, 30);
      assert.equal(await settingsStatus(key), 401);
      assert.equal((await remove('dave')).body.removed_at, removed.body.removed_at);
      assert.equal((await service.ask('/api/users', { json: { name: 'dave' } })).body.code, 'user_exists');
      for (const json of [{ disabled: true }, { name: 'david' }])
        assert.equal((await change('dave', json)).body.code, 'user_inactive');
      const restored = await restore('dave');
      assert.deepEqual([restored.status, restored.body.state, restored.body.purge_at], [200, 'active', null]);
      assert.equal(await settingsStatus(key), 200);
      assert.equal((await restore('dave')).status, 200);
    });

    it('refuses to remove the owner, and to disable or remove the last administrator, 409', async () => {
      assert.equal((await remove('owner')).body.code, 'owner_protected');
      const alone = await change('owner', { disabled: true });
      assert.deepEqual([alone.status, alone.body.code], [409, 'last_admin']);
      const key = await makeKey('eve', ['admin', 'keys:manage', 'settings:read']);
      assert.equal((await change('owner', { disabled: true }, key)).status, 200);
      assert.equal((await service.ask('/api/users')).status, 401);
      const last = await change('eve', { disabled: true }, key);
      assert.deepEqual([last.status, last.body.code], [409, 'last_admin']);
      const removed = await service.ask('/api/users/eve', { method: 'DELETE', key });
      assert.deepEqual([removed.status, removed.body.code], [409, 'last_admin']);
      assert.equal((await change('owner', { disabled: false }, key)).status, 200);
      assert.equal((await service.ask('/api/users/eve', { method: 'DELETE', key })).status, 200);
      assert.equal((await service.ask('/api/users', { key })).status, 401);
    });

    it('records who did it in the audit log', async () => {
      const rows = await inspect(
        service.storage,
        "select action, subject, key_id from audit where action like 'user.%' order by id",
      );
      const told = rows.map(({ action, subject }) => `${action} ${subject}`);
      for (const entry of [
        'user.create ada',
        'user.rename bob to robert',
        'user.disable carol',
        'user.enable carol',
        'user.remove dave',
        'user.restore dave',
      ])
        assert.equal(told.filter((text) => text === entry).length, 1, entry);
      assert.ok(rows.every(({ key_id }) => /^[0-9a-f]{16}$/.test(String(key_id))));
    });
  });

describe('a disabled owner', () => {
  it('is kept out with the key of the environment, and without a key, too', async (t) => {
    const env = { SESSION_API_KEY: preset, PARLEY_WITHOUT_KEY: '1' };
    const service = await startService({ env }, t);
    const { body } = await service.ask('/api/keys', { json: { name: 'k', user: 'ada', scopes: ['admin'] } });
    const admin = { key: body.key, method: 'PATCH' };
    assert.equal((await service.ask('/api/me', { key: null })).status, 200);
    await service.ask('/api/users/owner', { ...admin, json: { disabled: true } });
    assert.equal((await service.ask('/api/me', { key: preset })).status, 401);
    assert.equal((await service.ask('/api/me', { key: null })).status, 401);
    await service.ask('/api/users/owner', { ...admin, json: { disabled: false } });
    assert.equal((await service.ask('/api/me', { key: preset })).status, 200);
    assert.equal((await service.ask('/api/me', { key: null })).status, 200);
  });
});

describe('a user who is disabled by another process', () => {
  it('is kept out of this one, whose streams end', async (t) => {
    const first = await startService({ kind: 'postgres' }, t);
    const second = await startService({ storage: first.storage, env: { SESSION_API_KEY: preset } }, t);
    const { key } = (await first.ask('/api/keys', { json: { name: 'k', user: 'ada' } })).body;
    const { conversation_id: id } = (await second.ask('/api/conversations', { json: {}, key })).body;
    const stream = await openStream(second.url, `/api/conversations/${id}/events/stream`, { key });
    await first.ask('/api/users/ada', { method: 'PATCH', json: { disabled: true } });
    await until(
      'the key is refused',
      async () => (await second.ask('/api/settings', { key })).status === 401,
    );
    await untilClosed(stream);
    const [row] = await inspect(first.storage, `select status from conversations where id = '${id}'`);
    assert.equal(row?.['status'], 'STOPPED');
  });
});

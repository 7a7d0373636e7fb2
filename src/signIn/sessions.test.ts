// Sessions end when they should: by sign-out, by an administrator, with their user, and after their time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { visit } from '../../test/support/oidcProvider.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { startSignInService } from '../../test/support/signIn.ts';
import { openStream, untilClosed } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';

const ada = { sub: 'a-1', preferred_username: 'ada' };
const bob = { sub: 'b-1', preferred_username: 'bob' };

const statusOf = async (service: TestService, key: string) => (await service.ask('/api/me', { key })).status;

for (const kind of databaseKinds)
  describe(`sessions on ${kind}`, () => {
    it('are listed for their user, apart from API keys', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      const [first, second] = [(await signIn(ada)).body.token, (await signIn(ada)).body.token];
      await signIn(bob);
      const { sessions } = (await service.ask('/api/sessions', { key: second })).body;
      assert.deepEqual(sessions.map(({ is_current }: { is_current: boolean }) => is_current).toSorted(), [
        false,
        true,
      ]);
      const { keys } = (await service.ask('/api/keys', { key: first })).body;
      assert.deepEqual(keys, []);
      const [{ id }] = sessions;
      assert.equal((await service.ask(`/api/keys/${id}`, { method: 'DELETE', key: first })).status, 404);
      assert.equal((await service.ask('/api/users/ada')).body.keys, 0);
    });

    it('end by sign-out, here or everywhere, and their streams end', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      const tokens = [];
      for (let i = 0; i < 3; i++) tokens.push((await signIn(ada)).body.token);
      const [one = '', two = '', three = ''] = tokens;
      const stream = await openStream(service.url, '/api/events/stream', { key: one });
      const { key_id: id } = (await service.ask('/api/me', { key: one })).body;
      const ended = await service.ask(`/api/sessions/${id}`, { method: 'DELETE', key: one });
      assert.deepEqual([ended.status, ended.body], [200, { ended: 1 }]);
      assert.equal(await statusOf(service, one), 401);
      await untilClosed(stream);
      assert.equal(await statusOf(service, two), 200);
      const all = await service.ask('/api/sessions', { method: 'DELETE', key: two });
      assert.deepEqual(all.body, { ended: 2 });
      assert.deepEqual([await statusOf(service, two), await statusOf(service, three)], [401, 401]);
    });

    it('can be ended by an administrator, but not by another user or a key without the scope', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      const [own, other] = [(await signIn(ada)).body.token, (await signIn(bob)).body.token];
      const { key_id: id } = (await service.ask('/api/me', { key: own })).body;
      const { key } = (await service.ask('/api/keys', { json: { name: 'k', user: 'ada' } })).body;
      const end = (by?: string) =>
        service.ask(`/api/sessions/${id}`, { method: 'DELETE', ...(by === undefined ? {} : { key: by }) });
      assert.deepEqual([(await end(other)).status, (await end(key)).status], [404, 404]);
      for (const [method, path] of [
        ['GET', '/api/sessions'],
        ['DELETE', '/api/sessions'],
        ['DELETE', '/api/users/ada/sessions'],
      ] as const)
        assert.equal((await service.ask(path, { method, key })).status, 403);
      assert.equal(await statusOf(service, own), 200);
      assert.equal((await end()).status, 200);
      assert.equal(await statusOf(service, own), 401);
      assert.equal((await service.ask('/api/sessions/nonsense', { method: 'DELETE' })).status, 404);
      const all = await service.ask('/api/users/bob/sessions', { method: 'DELETE' });
      assert.deepEqual(all.body, { ended: 1 });
      assert.equal(await statusOf(service, other), 401);
      assert.equal((await service.ask('/api/users/nobody/sessions', { method: 'DELETE' })).status, 404);
    });

    it('end for good when their user is disabled or removed, who then cannot sign in, 403', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      const { token } = (await signIn(ada)).body;
      const stream = await openStream(service.url, '/api/events/stream', { key: token });
      const disable = (disabled: boolean) =>
        service.ask('/api/users/ada', { method: 'PATCH', json: { disabled } });
      await disable(true);
      assert.equal(await statusOf(service, token), 401);
      await untilClosed(stream);
      const refused = await signIn(ada);
      assert.deepEqual([refused.status, refused.body.code], [403, 'sign_in_refused']);
      await disable(false);
      assert.equal(await statusOf(service, token), 401);
      const again = (await signIn(ada)).body;
      assert.equal(again.user, 'ada');
      await service.ask('/api/users/ada', { method: 'DELETE' });
      assert.equal(await statusOf(service, again.token), 401);
      assert.equal((await signIn(ada)).status, 403);
      await service.ask('/api/users/ada/restore', { method: 'POST' });
      assert.equal(await statusOf(service, again.token), 401);
      assert.equal((await signIn(ada)).body.user, 'ada');
    });

    it('create keys that stay valid when they end, but expire when they would have ended at the latest', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      const { token, ends_at } = (await signIn(ada)).body;
      const { body: key } = await service.ask('/api/keys', { json: { name: 'cli' }, key: token });
      assert.equal(key.expires_at, ends_at);
      const never = { name: 'cli', expires_at: new Date(Date.parse(ends_at) + 1).toISOString() };
      assert.equal((await service.ask('/api/keys', { json: never, key: token })).status, 422);
      await service.ask('/api/sessions', { method: 'DELETE', key: token });
      assert.deepEqual([await statusOf(service, token), await statusOf(service, key.key)], [401, 200]);
      await service.ask('/api/users/ada', { method: 'PATCH', json: { disabled: true } });
      assert.equal(await statusOf(service, key.key), 401);
    });
  });

describe('a session that another process ends', () => {
  it('is refused by this one, whose streams end', async (t) => {
    const { service, signIn, env } = await startSignInService({ kind: 'postgres' }, t);
    const second = await startService({ storage: service.storage, env: { ...env, PORT: '0' } }, t);
    const { token } = (await signIn(ada)).body;
    assert.equal(await statusOf(second, token), 200);
    const stream = await openStream(second.url, '/api/events/stream', { key: token });
    await service.ask('/api/sessions', { method: 'DELETE', key: token });
    await until('the session is refused', async () => (await statusOf(second, token)) === 401);
    await untilClosed(stream);
  });

  it('can begin in one process and be finished in another', async (t) => {
    const { service, provider, begin, env, redirectUri } = await startSignInService({ kind: 'postgres' }, t);
    const second = await startService({ storage: service.storage, env: { ...env, PORT: '0' } }, t);
    provider.account = ada;
    const begun = await begin();
    const query = await visit(begun.authorization_url, redirectUri);
    const json = { secret: begun.secret, query };
    const { status, body } = await second.ask('/api/sign-in/finish', { key: null, json });
    assert.equal(status, 200);
    assert.equal(await statusOf(service, body.token), 200);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { visit } from '../../test/support/oidcProvider.ts';
import { startService } from '../../test/support/service.ts';
import { startSignInService } from '../../test/support/signIn.ts';
import { defaultsName } from '../users/owner.ts';

const ada = {
  sub: 'a-1',
  preferred_username: 'ada',
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  email_verified: true,
};

for (const kind of databaseKinds)
  describe(`signing in with a provider on ${kind}`, () => {
    it('creates a user, and a session that is a credential like a key, 200', async (t) => {
      const { service, provider, signIn } = await startSignInService({ kind }, t);
      const { status, headers, body } = await signIn(ada);
      assert.deepEqual([status, body.user, headers.getSetCookie()], [200, 'ada', []]);
      assert.match(body.token, /^ps_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
      const me = await service.ask('/api/me', { key: body.token });
      assert.deepEqual(
        { ...me.body, key_id: '' },
        {
          user: 'ada',
          key_id: '',
          key_name: 'sign-in',
          scopes: [
            'settings:read',
            'settings:write',
            'conversations:read',
            'conversations:write',
            'webhooks:manage',
            'keys:manage',
          ],
          expires_at: body.ends_at,
        },
      );
      const conversation = await service.ask('/api/conversations', { json: {}, key: body.token });
      assert.equal(conversation.status, 200);
      const stored = JSON.stringify(await inspect(service.storage, 'select * from sessions'));
      const secret = body.token.split('_').slice(2).join('_');
      for (const hidden of [secret, provider.clientSecret]) {
        assert.ok(!stored.includes(hidden));
        assert.ok(!service.logs().includes(hidden));
      }
    });

    it('finds the user again by the subject, whatever the account is called now', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      await signIn(ada);
      const again = await signIn({ ...ada, preferred_username: 'countess', email: 'al@example.org' });
      assert.equal(again.body.user, 'ada');
      const { identities } = (await service.ask('/api/users/ada/identities')).body;
      assert.deepEqual(
        identities.map(({ subject, email }: { subject: string; email: string }) => [subject, email]),
        [['a-1', 'al@example.org']],
      );
    });

    it('never signs somebody in as an existing user because of a name or an e-mail address', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      await service.ask('/api/users', { json: { name: 'ada' } });
      await service.ask('/api/users', { json: { name: 'ada@example.com' } });
      assert.equal((await signIn(ada)).body.user, 'ada-2');
      const owner = await signIn({ sub: 'x', preferred_username: 'owner' });
      assert.equal(owner.body.user, 'owner-2');
      const scopes = (await service.ask('/api/me', { key: owner.body.token })).body.scopes;
      assert.ok(!scopes.includes('admin'));
    });

    it('links no account to the owner of the default settings, 404', async (t) => {
      const { service } = await startSignInService({ kind }, t);
      await service.ask('/api/defaults', { method: 'PATCH', json: { llm_model: 'openai/gpt-4o' } });
      const path = `/api/users/${encodeURIComponent(defaultsName)}/identities`;
      assert.equal((await service.ask(path, { json: { subject: 'a-1' } })).status, 404);
      assert.equal((await service.ask(path)).status, 404);
    });

    it('refuses unknown accounts, 403, until an administrator has linked them, if users are not created', async (t) => {
      const env = { PARLEY_OIDC_CREATE_USERS: '0', PARLEY_OIDC_EMAIL_DOMAINS: '' };
      const { service, signIn } = await startSignInService({ kind, env }, t);
      await service.ask('/api/users', { json: { name: 'ada' } });
      const refused = await signIn(ada);
      assert.deepEqual([refused.status, refused.body.code], [403, 'sign_in_refused']);
      assert.match(refused.body.error, /its subject is a-1\.$/);
      const link = (user: string, key?: string) =>
        service.ask(`/api/users/${user}/identities`, {
          json: { subject: 'a-1' },
          ...(key === undefined ? {} : { key }),
        });
      const linked = await link('ada');
      assert.equal(linked.status, 201);
      assert.equal((await link('ada')).body.id, linked.body.id);
      assert.deepEqual([(await link('owner')).status, (await link('nobody')).status], [409, 404]);
      const signedIn = await signIn(ada);
      assert.equal(signedIn.body.user, 'ada');
      assert.equal((await link('ada', signedIn.body.token)).status, 403);
      const path = `/api/users/ada/identities/${linked.body.id}`;
      assert.equal((await service.ask(path, { method: 'DELETE' })).status, 200);
      assert.equal((await service.ask('/api/me', { key: signedIn.body.token })).status, 401);
      assert.equal((await service.ask(path, { method: 'DELETE' })).status, 404);
      assert.equal((await signIn(ada)).status, 403);
    });

    it('signs the linked owner in as an administrator', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      await service.ask('/api/users/owner/identities', { json: { subject: 'boss' } });
      const { body } = await signIn({ sub: 'boss' });
      assert.equal(body.user, 'owner');
      assert.equal((await service.ask('/api/users', { key: body.token })).status, 200);
    });

    it('records sign-ins, links and sign-outs in the audit log', async (t) => {
      const { service, signIn } = await startSignInService({ kind }, t);
      const { body } = await signIn(ada);
      await service.ask('/api/sessions', { method: 'DELETE', key: body.token });
      const rows = await inspect(service.storage, 'select action from audit order by id');
      const actions = rows.map(({ action }) => action);
      assert.deepEqual(
        actions.filter((action) => !String(action).startsWith('key.')),
        ['user.create', 'identity.link', 'session.create', 'session.end'],
      );
    });
  });

describe('who may sign in', () => {
  it('is decided by the domain of a verified e-mail address', async (t) => {
    const env = { PARLEY_OIDC_EMAIL_DOMAINS: 'example.com', PARLEY_OIDC_ADMIN_EMAILS: 'ada@example.com' };
    const { service, signIn } = await startSignInService({ env }, t);
    const refused = [
      { ...ada, email_verified: false },
      { ...ada, email_verified: undefined },
      { ...ada, email: 'ada@example.com.evil.org' },
      { ...ada, email: 'ada@evil.org@example.com' },
      { ...ada, email: 'example.com' },
      { sub: 'a-1' },
    ];
    for (const account of refused) {
      const { status, body } = await signIn(account);
      assert.deepEqual([status, body.code], [403, 'sign_in_refused'], JSON.stringify(account));
    }
    const { body } = await signIn({ ...ada, email: 'Ada@Example.com' });
    assert.equal((await service.ask('/api/users', { key: body.token })).status, 200);
    assert.match(service.logs(), /"subject":"a-1","why":"rules"/);
  });

  it('is decided by groups, and so is who is an administrator', async (t) => {
    const env = { PARLEY_OIDC_GROUPS: 'team,ops', PARLEY_OIDC_ADMIN_GROUPS: 'ops' };
    const { service, signIn } = await startSignInService({ env }, t);
    for (const groups of [undefined, [], ['teams'], 'team-2', [['team']]])
      assert.equal((await signIn({ ...ada, groups })).status, 403, JSON.stringify(groups));
    const member = await signIn({ ...ada, groups: ['x', 'team'] });
    assert.equal((await service.ask('/api/users', { key: member.body.token })).status, 403);
    const admin = await signIn({ ...ada, groups: ['ops'] });
    assert.equal((await service.ask('/api/users', { key: admin.body.token })).status, 200);
    // The next sign-in decides again.
    const former = await signIn({ ...ada, groups: 'team' });
    assert.equal((await service.ask('/api/users', { key: former.body.token })).status, 403);
  });
});

describe('a sign-in that does not succeed', () => {
  it('is reported as cancelled, 403, if the person cancels it', async (t) => {
    const { provider, begin, finish, redirectUri } = await startSignInService({}, t);
    provider.account = undefined;
    const begun = await begin();
    const { status, body } = await finish(begun, await visit(begun.authorization_url, redirectUri));
    assert.deepEqual([status, body.code], [403, 'sign_in_cancelled']);
  });

  it('does not affect keys or the start while the provider is down, 502', async (t) => {
    const { service, provider, env } = await startSignInService({}, t);
    provider.isDown = true;
    assert.equal((await service.ask('/api/sign-in', { key: null })).body.provider.name, 'Example');
    const down = await service.ask('/api/sign-in', { method: 'POST', key: null });
    assert.deepEqual([down.status, down.body.code], [502, 'sign_in_provider_failed']);
    assert.equal((await service.ask('/api/me')).status, 200);
    const elsewhere = { ...env, PORT: '0', PARLEY_OIDC_ISSUER: 'http://127.0.0.1:9' };
    const unreachable = await startService({ env: elsewhere }, t);
    assert.equal((await unreachable.ask('/api/sign-in', { method: 'POST', key: null })).status, 502);
    assert.equal((await unreachable.ask('/api/me')).status, 200);
  });

  it('is a failure of the provider, 502, if it fails after the person has signed in', async (t) => {
    const { provider, begin, finish, redirectUri } = await startSignInService({}, t);
    provider.account = ada;
    const begun = await begin();
    const query = await visit(begun.authorization_url, redirectUri);
    provider.isDown = true;
    assert.equal((await finish(begun, query)).status, 502);
    provider.isDown = false;
    assert.equal((await finish(begun, query)).status, 200);
  });
});

describe('a service without a provider', () => {
  it('says so, 200, and has no sign-in, 404', async (t) => {
    const service = await startService({}, t);
    const found = await service.ask('/api/sign-in', { key: null });
    assert.deepEqual([found.status, found.body], [200, { provider: null }]);
    assert.equal((await service.ask('/api/sign-in', { method: 'POST', key: null })).status, 404);
    const json = { secret: 'x', query: 'state=y' };
    assert.equal((await service.ask('/api/sign-in/finish', { key: null, json })).status, 404);
  });
});

// Attacks on the sign-in: whoever lacks the secret of the tab that began gets nothing, and no answer is used twice.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { visit } from '../../test/support/oidcProvider.ts';
import { type SignInService, startSignInService } from '../../test/support/signIn.ts';
import { signInsPerMinuteMax } from './routes.ts';

const mallory = { sub: 'm', preferred_username: 'mallory' };
const victim = { sub: 'v', preferred_username: 'victim' };

/** A sign-in up to the answer of the provider, which no tab has brought back yet. */
async function returned({ provider, begin, redirectUri }: SignInService, account: typeof victim) {
  provider.account = account;
  const begun = await begin();
  return { ...begun, query: await visit(begun.authorization_url, redirectUri) };
}

const failed = [400, 'sign_in_failed'];

for (const kind of databaseKinds)
  describe(`an attacker on ${kind}`, () => {
    it('cannot sign a victim in as themselves: a tab accepts only answers that it asked for', async (t) => {
      const setup = await startSignInService({ kind }, t);
      const attack = await returned(setup, mallory);
      const own = await setup.begin();
      const tokens = () => setup.provider.requests.filter((path) => path === '/token').length;
      for (const secret of [own.secret, 'guess', attack.secret.slice(1)]) {
        const { status, body } = await setup.finish({ secret }, attack.query);
        assert.deepEqual([status, body.code], failed);
      }
      assert.equal(tokens(), 0);
      assert.equal((await inspect(setup.service.storage, 'select id from sessions')).length, 0);
      // It is refused because of the tab alone.
      assert.equal((await setup.finish(attack, attack.query)).status, 200);
    });

    it('cannot inject a code into the sign-in of a victim, or use a stolen one', async (t) => {
      const setup = await startSignInService({ kind }, t);
      const attack = await returned(setup, mallory);
      const own = await returned(setup, victim);
      const mixed = new URLSearchParams(own.query);
      mixed.set('code', new URLSearchParams(attack.query).get('code') ?? '');
      const injected = await setup.finish(own, mixed.toString());
      assert.deepEqual([injected.status, injected.body.code], failed);
      const stolen = new URLSearchParams(attack.query);
      stolen.set('code', new URLSearchParams(own.query).get('code') ?? '');
      assert.equal((await setup.finish(attack, stolen.toString())).status, 400);
    });

    it('cannot use an answer twice, also not at the same time', async (t) => {
      const setup = await startSignInService({ kind }, t);
      const own = await returned(setup, victim);
      const both = await Promise.all([setup.finish(own, own.query), setup.finish(own, own.query)]);
      assert.ok(both.filter(({ status }) => status === 200).length <= 1);
      const { status, body } = await setup.finish(own, own.query);
      assert.deepEqual([status, body.code], failed);
      assert.ok((await inspect(setup.service.storage, 'select id from sessions')).length <= 1);
    });
  });

describe('an attacker', () => {
  it('cannot forge a state, or change one', async (t) => {
    const setup = await startSignInService({}, t);
    const own = await returned(setup, victim);
    const state = new URLSearchParams(own.query).get('state') ?? '';
    const [seed, until, tab, mac] = state.split('.');
    const changed = [
      '',
      'x',
      `${seed}.${Number(until) + 1}.${tab}.${mac}`,
      `${'A'.repeat(43)}.${until}.${tab}.${mac}`,
      `${seed}.${until}.${tab}.${'A'.repeat(43)}`,
      `${seed}.${until}.${tab}`,
      `${state}.`,
    ];
    for (const other of changed) {
      const query = new URLSearchParams(own.query);
      query.set('state', other);
      assert.equal((await setup.finish(own, query.toString())).status, 400, other);
    }
    const twice = `${own.query}&state=x`;
    assert.equal((await setup.finish(own, twice)).status, 400);
  });

  it('cannot pass off the answer of another provider', async (t) => {
    const setup = await startSignInService({}, t);
    const own = await returned(setup, victim);
    const query = new URLSearchParams(own.query);
    assert.equal(query.get('iss'), setup.provider.issuer);
    for (const iss of ['https://evil.example', '']) {
      query.set('iss', iss);
      assert.equal((await setup.finish(own, query.toString())).status, 400);
    }
    query.delete('iss');
    assert.equal((await setup.finish(own, query.toString())).status, 400);
  });

  it('cannot choose where people are sent: nothing in a request decides that', async (t) => {
    const { service, redirectUri, provider } = await startSignInService({}, t);
    const json = { redirect_uri: 'https://evil.example', return_to: 'https://evil.example' };
    const { body } = await service.ask('/api/sign-in?redirect_uri=https://evil.example', { key: null, json });
    const url = new URL(body.authorization_url);
    assert.equal(url.origin, provider.issuer);
    assert.equal(url.searchParams.get('redirect_uri'), redirectUri);
    assert.equal(url.searchParams.get('code_challenge_method'), 'S256');
    assert.ok(!body.authorization_url.includes('evil'));
    assert.ok(!body.authorization_url.includes(body.secret));
  });

  it('cannot begin sign-ins from pages of other origins, 403', async (t) => {
    const { service } = await startSignInService({}, t);
    const headers = { origin: 'https://evil.example' };
    const begun = await service.ask('/api/sign-in', { method: 'POST', key: null, headers });
    assert.deepEqual([begun.status, begun.body.code], [403, 'origin_not_allowed']);
  });

  it('cannot try without end: an address has a limit, 429', async (t) => {
    const { service, finish } = await startSignInService({}, t);
    // At once, because each second allows another one.
    const answers = await Promise.all(
      Array.from({ length: 2 * signInsPerMinuteMax }, () => finish({ secret: 'x' }, 'code=x&state=y')),
    );
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([400, 429]));
    assert.ok(statuses.filter((status) => status === 400).length >= signInsPerMinuteMax);
    assert.equal((await service.ask('/api/me')).status, 200);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { assertWithout, filesBelow } from '../../test/support/canaries.ts';
import { databaseKinds } from '../../test/support/databases.ts';
import { listenAsProvider, providerToken } from '../../test/support/gitProvider.ts';
import { startWithProviders } from '../../test/support/gitProviderService.ts';
import { startService } from '../../test/support/service.ts';
import { type GitProvider, gitProviders } from '../git/providers.ts';

const repositories = '/api/repositories';
const names: Readonly<Record<GitProvider, string>> = {
  github: 'GitHub',
  enterprise_sso: 'The enterprise Git provider',
  gitlab: 'GitLab',
  bitbucket: 'Bitbucket',
};

async function startQuick(t: TestContext, provider: GitProvider) {
  return startWithProviders(t, [provider], {
    times: { gitProviders: { exchangeMs: 500, requestMs: 1_000 } },
  });
}

describe('responses of a Git provider', () => {
  it('are cached by their ETag: the second request transfers nothing', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    const first = await service.ask(`${repositories}?per_page=2`);
    const second = await service.ask(`${repositories}?per_page=2`);
    assert.deepEqual(second.body, first.body);
    assert.equal(first.body.next_page_id, '2');
    assert.deepEqual(
      fake.seen.map(({ status }) => status),
      [200, 304],
    );
    await service.ask(`${repositories}?per_page=1`);
    assert.equal(fake.seen.at(-1)?.status, 200);
  });

  it('are not shared between tokens, nor between users', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    await service.ask(repositories);
    const { body } = await service.ask('/api/keys', { json: { name: 'n', user: 'bob' } });
    const provider_tokens = { github: { token: providerToken } };
    await service.ask('/api/add-git-providers', { key: body.key, json: { provider_tokens } });
    assert.equal((await service.ask(repositories, { key: body.key })).status, 200);
    assert.deepEqual(
      fake.seen.map(({ status }) => status),
      [200, 200],
    );
    await service.ask('/api/add-git-providers', {
      json: { provider_tokens: { github: { token: 'another' } } },
    });
    assert.equal((await service.ask(repositories)).status, 409);
    assert.equal(fake.seen.at(-1)?.status, 401);
  });
});

describe('a rate limit of a Git provider', () => {
  const limits: readonly [string, number, Record<string, string>, string][] = [
    ['429 with Retry-After', 429, { 'retry-after': '77' }, '77'],
    ['403 of a secondary limit', 403, { 'retry-after': '30' }, '30'],
    ['403 where nothing is left', 403, { 'x-ratelimit-remaining': '0' }, '60'],
    ['429 without a time', 429, {}, '60'],
    ['429 with a time that cannot be right', 429, { 'retry-after': '999999' }, '3600'],
  ];

  for (const [title, status, headers, seconds] of limits)
    it(`is 429 with Retry-After, and nothing is asked until then: ${title}`, async (t) => {
      const { service, fake } = await startWithProviders(t, ['github']);
      fake.answerAll({ status, json: { message: 'slow down' }, headers });
      const first = await service.ask(repositories);
      assert.deepEqual([first.status, first.body.code], [429, 'git_provider_rate_limited']);
      assert.equal(first.headers.get('retry-after'), seconds);
      assert.match(first.body.error, /^GitHub \(127\.0\.0\.1:\d+\) has received too many requests/);
      const again = await service.ask('/api/git-providers/github/user');
      assert.deepEqual([again.status, again.body.code], [429, 'git_provider_rate_limited']);
      assert.match(again.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      assert.equal(fake.seen.length, 1);
    });

  it('in GraphQL is found in a successful response', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    fake.answerAll({
      json: { data: null, errors: [{ type: 'RATE_LIMITED' }] },
      headers: { 'retry-after': '500' },
    });
    const { status, headers } = await service.ask(`${repositories}/suggested-tasks`);
    assert.deepEqual([status, headers.get('retry-after')], [429, '500']);
  });

  it('ends with a new token, and 403 for a missing permission is none', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    fake.answerAll({ status: 429, json: {} });
    await service.ask(repositories);
    const provider_tokens = { github: { token: 'another' } };
    await service.ask('/api/add-git-providers', { json: { provider_tokens } });
    assert.equal((await service.ask(repositories)).status, 409);
    const other = await startWithProviders(t, ['gitlab']);
    other.fake.answerAll({ status: 403, json: {} });
    for (let i = 0; i < 2; i++) {
      const { status, body } = await other.service.ask(repositories);
      assert.deepEqual([status, body.code], [409, 'git_token_refused']);
    }
    assert.equal(other.fake.seen.length, 2);
  });
});

describe('a Git provider that misbehaves', () => {
  const paths = [
    repositories,
    `${repositories}/search?q=shop`,
    `${repositories}/branches?repository=acme/shop`,
    `${repositories}/branches?repository=acme/shop&q=x`,
    `${repositories}/microagents?repository=acme/shop`,
  ];

  for (const provider of gitProviders)
    it(`${provider} is named in a 502 where its answers are not as documented`, async (t) => {
      const { service, fake } = await startQuick(t, provider);
      const hostile = [
        { text: '<html>' },
        { text: '' },
        { text: '[{"full_name": 1}, {"name": {}}, {"slug": null}, {"login": [], "workspace": {"slug": 7}}]' },
        { json: null },
        { json: 'text' },
        { json: [null, 'x', []] },
        { json: { values: 5, items: {}, data: [] } },
        { json: { values: [{ name: 7 }], data: { repository: { refs: [] } } } },
        { text: `${'['.repeat(50_000)}` },
        { status: 500, json: { message: providerToken } },
        { status: 200, text: `["${'x'.repeat(5_000_000)}"]` },
      ];
      for (const answer of hostile) {
        fake.answerAll(answer);
        for (const path of paths) {
          const { status, body, text } = await service.ask(path);
          const where = `${path} ${JSON.stringify(answer).slice(0, 80)}: ${text}`;
          // A list of workspaces without names is an empty one.
          if (status === 200) assert.deepEqual(body.results, [], where);
          else if (status === 404) assert.equal(body.code, 'not_found', where);
          else {
            assert.deepEqual([status, body.code], [502, 'git_provider_failed'], where);
            assert.ok(body.error.startsWith(`${names[provider]} (127.0.0.1:`), where);
          }
        }
      }
    });

  it('that does not answer is given up after its time, 502', async (t) => {
    const { service, fake } = await startQuick(t, 'github');
    fake.takeOver(() => true);
    const silent = await service.ask(repositories);
    assert.deepEqual([silent.status, silent.body.code], [502, 'git_provider_failed']);
    assert.match(silent.body.error, /^GitHub \(.*did not respond/);
    fake.takeOver((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write('[');
      return true;
    });
    assert.equal((await service.ask(repositories)).status, 502);
  });

  it('that is slow at each of many requests is given up after the time for all of them, 502', async (t) => {
    const times = { gitProviders: { exchangeMs: 60_000, requestMs: 1_000 } };
    const { service, fake } = await startWithProviders(t, ['bitbucket'], { times });
    fake.takeOver(({ path }) => path !== '/user/workspaces');
    const { status, body } = await service.ask(repositories);
    assert.deepEqual([status, body.code], [502, 'git_provider_failed']);
    assert.match(body.error, /did not respond in time/);
  });

  it('at a private address is not asked unless the operator allows it, 502', async (t) => {
    const fake = await listenAsProvider(t, 'gitlab');
    const service = await startService({ env: { PARLEY_ALLOW_PRIVATE_ADDRESSES: '0' } }, t);
    const provider_tokens = { gitlab: { token: providerToken, host: new URL(fake.url).host } };
    await service.ask('/api/add-git-providers', { json: { provider_tokens } });
    const { status, body } = await service.ask(repositories);
    assert.deepEqual([status, body.code], [502, 'git_provider_failed']);
    assert.match(body.error, /^GitLab \(127\.0\.0\.1:\d+\) cannot be asked\. Its address is private/);
    assert.equal(fake.seen.length, 0);
  });

  it('is not waited for when the client has gone, which is no error of the service', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    const asked = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    fake.takeOver((_request, response) => {
      response.once('close', () => closed.resolve());
      asked.resolve();
      return true;
    });
    const leaving = new AbortController();
    const headers = { 'x-session-api-key': service.key };
    const left = fetch(service.url + repositories, { headers, signal: leaving.signal });
    await asked.promise;
    leaving.abort();
    await assert.rejects(left);
    await closed.promise;
    fake.takeOver(() => false);
    assert.equal((await service.ask(repositories)).status, 200);
    assert.doesNotMatch(service.logs(), /request failed/);
  });

  it('that redirects is not followed, 502', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    fake.answerAll({ status: 301, json: {}, headers: { location: 'http://127.0.0.1:1/steal' } });
    assert.equal((await service.ask(repositories)).status, 502);
    fake.answerAll({ status: 304, json: {} });
    assert.equal((await service.ask(repositories)).status, 502);
  });

  it('has at most six requests of one user at once, while other routes answer', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    const held: (() => void)[] = [];
    const sixth = Promise.withResolvers<void>();
    fake.takeOver((_request, response) => {
      held.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end('[]'));
      if (held.length === 6) sixth.resolve();
      return true;
    });
    const asked = Array.from({ length: 10 }, () => service.ask(repositories));
    await sixth.promise;
    for (let i = 0; i < 5; i++) assert.equal((await service.ask('/api/settings')).status, 200);
    assert.equal(held.length, 6);
    fake.takeOver(() => false);
    for (const answer of held) answer();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([200]));
  });
});

for (const kind of databaseKinds)
  describe(`the access token on ${kind}`, () => {
    it('is sent in a header, and appears in no answer, log or file', async (t) => {
      const { service, fake } = await startWithProviders(t, ['github'], { kind });
      const bad = { json: { message: `Bad token ${providerToken}` } };
      const texts: string[] = [];
      for (const status of [200, 400, 401, 403, 404, 422, 429, 500]) {
        fake.answerAll({ ...bad, status });
        texts.push((await service.ask(repositories)).text);
      }
      assert.equal(fake.seen.length, 7);
      for (const { authorization, path, query } of fake.seen) {
        assert.equal(authorization, `Bearer ${providerToken}`);
        assertWithout([providerToken], 'the URL', `${path}?${query}`);
      }
      for (const text of texts) assertWithout([providerToken], 'an answer', text);
      assertWithout([providerToken], 'the log', service.logs());
      for (const file of filesBelow(service.storage.dataDir))
        assertWithout([providerToken], file, readFileSync(file));
    });
  });

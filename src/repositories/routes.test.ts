import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startWithProviders } from '../../test/support/gitProviderService.ts';
import { startService } from '../../test/support/service.ts';
import type { GitProvider } from '../git/providers.ts';

/** The repository of each provider that has branches and microagents. */
const repositories: Readonly<Record<GitProvider, string>> = {
  github: 'acme/shop',
  enterprise_sso: 'acme/shop',
  gitlab: 'acme/web/site',
  bitbucket: 'acme/shop',
};
const namesOf = (results: readonly { full_name?: string; name?: string }[]) =>
  results.map(({ full_name, name }) => full_name ?? name);

const users: Readonly<Record<GitProvider, object>> = {
  github: { id: '1', company: null, git_provider: 'github' },
  enterprise_sso: { id: '1', company: null, git_provider: 'enterprise_sso' },
  gitlab: { id: '1', company: 'Acme', git_provider: 'gitlab' },
  bitbucket: { id: 'a:1', company: null, git_provider: 'bitbucket' },
};
const installations: Readonly<Record<GitProvider, readonly string[]>> = {
  github: ['acme'],
  enterprise_sso: ['acme'],
  gitlab: ['acme', 'acme/web'],
  bitbucket: ['acme', 'ada'],
};

for (const provider of ['github', 'enterprise_sso', 'gitlab', 'bitbucket'] as const) {
  const repository = repositories[provider];
  const site = provider === 'gitlab' ? 'acme/web/site' : 'acme/site';

  describe(`what a token of ${provider} can see`, () => {
    it('has a user and installations, 200', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const user = await service.ask(`/api/git-providers/${provider}/user`);
      assert.deepEqual(
        [user.status, user.body],
        [
          200,
          {
            ...users[provider],
            login: 'ada',
            avatar_url: 'https://x.example/a',
            name: 'Ada',
            email: null,
          },
        ],
      );
      const found = await service.ask(`/api/git-providers/${provider}/installations`);
      assert.deepEqual(found.body, { results: installations[provider] });
    });

    it('lists repositories in pages, each once, 200', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const first = await service.ask('/api/repositories?per_page=2');
      assert.equal(first.status, 200, first.text);
      const pages = [first.body];
      while (pages.at(-1).next_page_id !== null)
        pages.push(
          (await service.ask(`/api/repositories?per_page=2&page_id=${pages.at(-1).next_page_id}`)).body,
        );
      const all = pages.flatMap(({ results }) => results);
      assert.deepEqual(namesOf(all).toSorted(), ['acme/shop', site, 'ada/notes']);
      const shop = all.find(({ full_name }) => full_name === 'acme/shop');
      assert.deepEqual(shop, {
        id: provider === 'bitbucket' ? '{3}' : '3',
        full_name: 'acme/shop',
        git_provider: provider,
        is_public: false,
        stargazers_count: provider === 'bitbucket' ? null : 2,
        pushed_at: '2026-01-03T00:00:00Z',
        owner_type: 'organization',
        main_branch: 'trunk',
      });
      assert.equal(all.find(({ full_name }) => full_name === 'ada/notes').owner_type, 'user');
    });

    it('lists the repositories of one installation, 200', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const installation = provider === 'gitlab' ? 'acme%2Fweb' : 'acme';
      const { body } = await service.ask(`/api/repositories?installation=${installation}`);
      assert.deepEqual(namesOf(body.results), provider === 'gitlab' ? [site] : ['acme/shop', site]);
    });

    it('searches repositories, own ones first, 200', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const search = async (query: string) =>
        namesOf((await service.ask(`/api/repositories/search?${query}`)).body.results);
      const isPublic = provider === 'bitbucket' ? [] : ['world/shop'];
      assert.deepEqual(await search('q=shop&per_page=5'), ['acme/shop', ...isPublic]);
      assert.deepEqual(await search('q=shop&per_page=1'), ['acme/shop']);
      assert.deepEqual(await search(`q=${encodeURIComponent('acme/sh')}`), ['acme/shop']);
      assert.deepEqual(await search('q=nobody%2Fx'), []);
    });

    it('finds the repository of a URL on its host, 200, and none of another host', async (t) => {
      const { service, fake } = await startWithProviders(t, [provider]);
      const search = async (url: string) =>
        namesOf((await service.ask(`/api/repositories/search?q=${encodeURIComponent(url)}`)).body.results);
      assert.deepEqual(await search(`${fake.url}/acme/shop.git`), ['acme/shop']);
      assert.deepEqual(await search(`${fake.url}/acme/nothing`), []);
      const before = fake.seen.length;
      assert.deepEqual(await search('https://elsewhere.example/acme/shop'), []);
      assert.equal(fake.seen.length, before);
    });

    it('lists and searches branches, 200, and answers 404 for an unknown repository', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const ask = (query: string) =>
        service.ask(`/api/repositories/branches?repository=${encodeURIComponent(repository)}${query}`);
      const first = (await ask('&per_page=3')).body;
      const second = (await ask(`&per_page=3&page_id=${first.next_page_id}`)).body;
      assert.deepEqual(namesOf([...first.results, ...second.results]), [
        'trunk',
        'next',
        'fix/a',
        'fix/b',
        'old',
      ]);
      assert.equal(second.next_page_id, null);
      const isGithub = provider === 'github' || provider === 'enterprise_sso';
      assert.deepEqual(first.results[0], {
        name: 'trunk',
        commit_sha: 'c0',
        protected: provider !== 'bitbucket',
        last_push_date: isGithub ? null : '2026-01-31T12:00:00Z',
      });
      const found = (await ask('&q=fix')).body;
      assert.deepEqual(namesOf(found.results), ['fix/a', 'fix/b']);
      assert.equal(found.results[0].last_push_date, '2026-01-31T12:00:00Z');
      for (const more of ['', '&q=x']) {
        const { status, body } = await service.ask(`/api/repositories/branches?repository=no/such${more}`);
        assert.deepEqual([status, body.code], [404, 'not_found']);
      }
    });

    it('has microagents with their triggers, 200, and reads no other file, 404', async (t) => {
      const { service, fake } = await startWithProviders(t, [provider]);
      const place = `repository=${encodeURIComponent(repository)}`;
      const list = await service.ask(`/api/repositories/microagents?${place}`);
      const path = '.openhands/microagents/deploy.md';
      assert.deepEqual(list.body, {
        results: [{ name: 'deploy', path, created_at: '2026-01-31T12:00:00.000Z', git_provider: provider }],
      });
      const content = (file: string) =>
        service.ask(`/api/repositories/microagents/content?${place}&path=${encodeURIComponent(file)}`);
      assert.deepEqual((await content(path)).body, {
        content: 'Run make deploy.',
        path,
        triggers: provider === 'bitbucket' ? [] : ['deploy'],
        git_provider: provider,
      });
      assert.equal((await content('.openhands/microagents/no.md')).status, 404);
      const before = fake.seen.length;
      for (const file of [
        'README.md',
        '.openhands/microagents/../../x.md',
        '.openhands/microagents/more/x.md',
        '.openhands/microagents/deploy.md/',
        '/.openhands/microagents/deploy.md',
      ])
        assert.equal((await content(file)).status, 404, file);
      assert.equal(fake.seen.length, before);
    });

    it('has no microagents in a repository without the folder, 200, and 404 where there is none', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const ask = (name: string) => service.ask(`/api/repositories/microagents?repository=${name}`);
      const without = provider === 'gitlab' ? 'acme%2Fshop' : 'acme%2Fsite';
      if (provider !== 'bitbucket') assert.deepEqual((await ask(without)).body, { results: [] });
      assert.equal((await ask('no%2Fsuch')).status, 404);
    });

    it('suggests tasks, 200', async (t) => {
      const { service } = await startWithProviders(t, [provider]);
      const { status, body } = await service.ask('/api/repositories/suggested-tasks');
      assert.deepEqual([status, body.errors], [200, []]);
      const shown = body.results.map(
        ({ task_type, repo, issue_number, title }: Record<string, string>) =>
          `${task_type} ${repo} ${issue_number} ${title}`,
      );
      const own = provider === 'gitlab' ? 'acme/web/site' : 'acme/shop';
      const assigned = provider === 'gitlab' ? 'acme/shop' : 'acme/site';
      const expected = [
        `MERGE_CONFLICTS ${own} 11 Request 11`,
        `FAILING_CHECKS ${own} 12 Request 12`,
        `UNRESOLVED_COMMENTS ${own} 13 Request 13`,
        ...(provider === 'gitlab' ? [] : [`UNRESOLVED_COMMENTS ${own} 14 Request 14`]),
        `OPEN_ISSUE ${assigned} 7 It breaks`,
      ];
      assert.deepEqual(shown, provider === 'bitbucket' ? [] : expected);
    });
  });
}

describe('the repositories of a user', () => {
  it('need a token, 409, and the provider if there are several, 422', async (t) => {
    const empty = await startService({}, t);
    const paths = [
      '/api/repositories',
      '/api/repositories/search?q=x',
      '/api/repositories/branches?repository=a/b',
      '/api/repositories/suggested-tasks',
      '/api/repositories/microagents?repository=a/b',
      '/api/git-providers/github/user',
      '/api/git-providers/github/installations',
    ];
    for (const path of paths) {
      const { status, body } = await empty.ask(path);
      assert.deepEqual([status, body.code], [409, 'git_token_missing'], path);
    }
    const { service } = await startWithProviders(t, ['github', 'gitlab']);
    const { status, body } = await service.ask('/api/repositories');
    assert.deepEqual([status, body.details[0].path], [422, 'provider']);
    assert.equal((await service.ask('/api/repositories?provider=gitlab')).status, 200);
  });

  it('are found at whichever provider has them', async (t) => {
    const { service } = await startWithProviders(t, ['github', 'gitlab']);
    const { body } = await service.ask('/api/repositories/microagents?repository=acme/web/site');
    assert.equal(body.results[0].git_provider, 'gitlab');
    const shop = await service.ask('/api/repositories/branches?repository=acme/shop');
    assert.equal(shop.status, 200);
  });

  it('refuse parameters that are not valid, 422', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    for (const query of [
      '?per_page=0',
      '?per_page=101',
      '?page_id=x',
      '?sort=stars',
      '?provider=other',
      '/search',
      '/search?q=',
      '/branches',
      '/branches?repository=only-a-name',
      '/branches?repository=a%2F..%2Fb',
    ]) {
      const { status, body } = await service.ask(`/api/repositories${query}`);
      assert.deepEqual([status, body.code], [422, 'invalid'], query);
    }
    assert.equal(fake.seen.length, 0);
  });

  it('ask for nothing outside of what is named: 404 for names that would change the path', async (t) => {
    const { service, fakes } = await startWithProviders(t, ['github', 'gitlab', 'bitbucket']);
    for (const { provider } of fakes)
      for (const name of ['..', '.'])
        assert.equal(
          (await service.ask(`/api/repositories?provider=${provider}&installation=${name}`)).status,
          404,
          `${provider} ${name}`,
        );
    await service.ask('/api/repositories/search?provider=bitbucket&q=..%2Fx');
    await service.ask('/api/repositories/search?provider=github&q=%3A%22');
    assert.deepEqual(
      fakes.flatMap(({ seen }) => seen),
      [],
    );
  });

  it('require the scope conversations:write, 403', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    const { body } = await service.ask('/api/keys', { json: { name: 'n', scopes: ['settings:read'] } });
    assert.equal((await service.ask('/api/repositories', { key: body.key })).status, 403);
    assert.equal(fake.seen.length, 0);
  });

  it('are those of the own tokens: another user has none', async (t) => {
    const { service } = await startWithProviders(t, ['github']);
    const { body } = await service.ask('/api/keys', { json: { name: 'n', user: 'bob' } });
    assert.equal((await service.ask('/api/repositories', { key: body.key })).status, 409);
  });

  it('name the providers that failed beside the tasks of others, and fail if all did', async (t) => {
    const { service, fakes } = await startWithProviders(t, ['github', 'gitlab']);
    fakes[1]?.answerAll({ status: 500, json: {} });
    const some = await service.ask('/api/repositories/suggested-tasks');
    assert.equal(some.body.results.length, 5);
    assert.deepEqual(some.body.errors, [
      {
        git_provider: 'gitlab',
        code: 'git_provider_failed',
        error: `GitLab (${new URL(fakes[1]?.url ?? '').host}) failed with status 500. Try again later.`,
      },
    ]);
    fakes[0]?.answerAll({ status: 500, json: {} });
    assert.equal((await service.ask('/api/repositories/suggested-tasks')).status, 502);
  });

  it('are listed by the id of an app installation, which tokens of an app see', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github']);
    fake.takeOver(({ path }, response) => {
      if (path !== '/user/installations') return false;
      response.writeHead(200).end(JSON.stringify({ total_count: 1, installations: [{ id: 7 }] }));
      return true;
    });
    const found = await service.ask('/api/git-providers/github/installations');
    assert.deepEqual(found.body, { results: ['7'] });
    const { body } = await service.ask('/api/repositories?installation=7');
    assert.deepEqual(namesOf(body.results), ['acme/shop']);
  });
});

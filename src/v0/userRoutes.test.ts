import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startWithProviders } from '../../test/support/gitProviderService.ts';
import { startService } from '../../test/support/service.ts';

const paths = [
  '/api/user/info',
  '/api/user/installations?provider=github',
  '/api/user/repositories',
  '/api/user/repositories?selected_provider=github',
  '/api/user/search/repositories?query=x',
  '/api/user/search/branches?repository=a/b&query=x',
  '/api/user/repository/branches?repository=a/b',
  '/api/user/suggested-tasks',
  '/api/user/repository/a/b/microagents',
  '/api/user/repository/a/b/microagents/content?file_path=.openhands/microagents/x.md',
];

describe('/api/user without an access token', () => {
  it('answers 401 with a JSON string', async (t) => {
    const service = await startService({}, t);
    for (const path of paths) {
      const { status, body } = await service.ask(path);
      assert.deepEqual([status, body], [401, 'Git provider token required.'], path);
    }
  });

  it('answers 401 with the usual error without an API key', async (t) => {
    const service = await startService({}, t);
    const { status, body } = await service.ask('/api/user/info', { key: null });
    assert.deepEqual([status, body.code], [401, 'unauthorized']);
  });

  it('answers 401 with a JSON string where the provider refuses it', async (t) => {
    const { service } = await startWithProviders(t, ['github'], { token: 'stale' });
    const { status, body } = await service.ask('/api/user/info');
    assert.equal(status, 401);
    assert.match(body, /^GitHub \(.*\) does not accept your access token/);
  });
});

describe('/api/user', () => {
  it('has the user of the first provider that accepts its token', async (t) => {
    const { service, fakes } = await startWithProviders(t, ['github', 'gitlab']);
    fakes[0]?.answerAll({ status: 401, json: {} });
    const { body } = await service.ask('/api/user/info');
    assert.deepEqual(body, {
      id: '1',
      login: 'ada',
      avatar_url: 'https://x.example/a',
      company: 'Acme',
      name: 'Ada',
      email: null,
    });
  });

  it('lists installations as strings, and asks for a known provider, 422', async (t) => {
    const { service } = await startWithProviders(t, ['bitbucket']);
    assert.deepEqual((await service.ask('/api/user/installations?provider=bitbucket')).body, ['acme', 'ada']);
    for (const query of ['', '?provider=other'])
      assert.equal((await service.ask(`/api/user/installations${query}`)).status, 422);
  });

  it('lists the repositories of all providers, whichever of them fail', async (t) => {
    const { service, fakes } = await startWithProviders(t, ['github', 'gitlab', 'bitbucket']);
    fakes[1]?.answerAll({ status: 500, json: {} });
    const { body } = await service.ask('/api/user/repositories?sort=pushed&anything=else');
    assert.deepEqual(
      body.map((one: Record<string, string>) => `${one['git_provider']} ${one['full_name']}`),
      [
        'github acme/shop',
        'github acme/site',
        'github ada/notes',
        'bitbucket acme/shop',
        'bitbucket acme/site',
        'bitbucket ada/notes',
      ],
    );
    assert.deepEqual(body[0], {
      id: '3',
      full_name: 'acme/shop',
      git_provider: 'github',
      is_public: false,
      stargazers_count: 2,
      link_header: null,
      pushed_at: '2026-01-03T00:00:00Z',
      owner_type: 'organization',
      main_branch: 'trunk',
    });
  });

  it('reads every page of a provider for a list without pages', async (t) => {
    const { service, fake } = await startWithProviders(t, ['gitlab']);
    fake.takeOver(({ query }, response) => {
      const page = Number(query.get('page'));
      const items = Array.from({ length: 100 }, (_, i) => ({
        id: page * 100 + i,
        path_with_namespace: `a/${i}`,
      }));
      response.writeHead(200, { 'x-next-page': String(page + 1) }).end(JSON.stringify(items));
      return true;
    });
    assert.equal((await service.ask('/api/user/repositories')).body.length, 1_000);
  });

  it('lists a page of one provider, whose link names the next one', async (t) => {
    const { service, fake } = await startWithProviders(t, ['github', 'gitlab']);
    const ask = async (query: string) =>
      (await service.ask(`/api/user/repositories?selected_provider=github&${query}`)).body;
    const first = await ask('sort=nonsense&page=1&per_page=2');
    assert.equal(first.length, 2);
    const [, next] = /<[^>]*[?&]page=(\d+)(?:&[^>]*)?>;\s*rel="next"/.exec(first[0].link_header) ?? [];
    const second = await ask(`page=${next}&per_page=2`);
    assert.deepEqual([second.length, second[0].link_header], [1, '']);
    assert.equal((await ask('installation_id=7')).length, 1);
    await ask('page=-3&per_page=5000');
    assert.deepEqual(
      [fake.seen.at(-1)?.query.get('page'), fake.seen.at(-1)?.query.get('per_page')],
      ['1', '100'],
    );
  });

  it('searches repositories at one provider or at all', async (t) => {
    const { service } = await startWithProviders(t, ['github', 'gitlab']);
    const search = async (query: string) =>
      (await service.ask(`/api/user/search/repositories?${query}`)).body.map(
        (one: Record<string, string>) => `${one['git_provider']} ${one['full_name']}`,
      );
    assert.deepEqual(await search('query=shop&per_page=1&sort=x&order=y'), [
      'github acme/shop',
      'gitlab acme/shop',
    ]);
    assert.deepEqual(await search('query=shop&selected_provider=gitlab'), [
      'gitlab acme/shop',
      'gitlab world/shop',
    ]);
    assert.equal((await service.ask('/api/user/search/repositories')).status, 422);
  });

  it('lists branches as a list, or as a page if one is asked for', async (t) => {
    const { service } = await startWithProviders(t, ['gitlab']);
    const path = '/api/user/repository/branches?repository=acme/web/site';
    const all = (await service.ask(path)).body;
    assert.equal(all.length, 5);
    assert.deepEqual(all[0], {
      name: 'trunk',
      commit_sha: 'c0',
      protected: true,
      last_push_date: '2026-01-31T12:00:00Z',
    });
    assert.deepEqual((await service.ask(`${path}&page=2&per_page=3`)).body, {
      branches: all.slice(3),
      has_next_page: false,
      current_page: 2,
      per_page: 3,
      total_count: 5,
    });
    const found = await service.ask(
      '/api/user/search/branches?repository=acme/web/site&query=fix&per_page=1',
    );
    assert.deepEqual(found.body, [all[2]]);
  });

  it('suggests tasks as a list', async (t) => {
    const { service } = await startWithProviders(t, ['github']);
    const { body } = await service.ask('/api/user/suggested-tasks');
    assert.deepEqual(body[0], {
      git_provider: 'github',
      task_type: 'MERGE_CONFLICTS',
      repo: 'acme/shop',
      issue_number: 11,
      title: 'Request 11',
    });
  });

  it('reads microagents of repositories whose names have slashes', async (t) => {
    const { service } = await startWithProviders(t, ['gitlab']);
    const path = '.openhands/microagents/deploy.md';
    for (const name of ['acme/web/site', 'acme%2Fweb%2Fsite']) {
      const list = await service.ask(`/api/user/repository/${name}/microagents`);
      assert.deepEqual(list.body, [
        { name: 'deploy', path, created_at: '2026-01-31T12:00:00.000Z', git_provider: 'gitlab' },
      ]);
      const one = await service.ask(`/api/user/repository/${name}/microagents/content?file_path=${path}`);
      assert.deepEqual(one.body, {
        content: 'Run make deploy.',
        path,
        triggers: ['deploy'],
        git_provider: 'gitlab',
      });
    }
  });

  it('answers 404 for other paths of a repository, 405 for other methods, and 502 where the provider fails', async (t) => {
    const { service, fake } = await startWithProviders(t, ['gitlab']);
    assert.equal((await service.ask('/api/user/repository/acme/web/site')).status, 404);
    const posted = await service.ask('/api/user/repository/acme/web/site/microagents', { method: 'POST' });
    assert.equal(posted.status, 405);
    fake.answerAll({ text: 'no' });
    const { status, body } = await service.ask('/api/user/repositories');
    assert.deepEqual([status, body.code], [502, 'git_provider_failed']);
  });
});

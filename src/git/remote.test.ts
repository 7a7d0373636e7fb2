import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { parseGitHosts } from './hosts.ts';
import { findRemote, isBranchName, sshUrls } from './remote.ts';
import { mayBeRepository } from './repositoryPaths.ts';

const query = { provider: null, userHosts: {}, gitHosts: {} } as const;

function urlOf(repository: string, more: Partial<Parameters<typeof findRemote>[0]> = {}): string {
  const found = findRemote({ ...query, repository, ...more });
  return 'remote' in found ? found.remote.url : found.fault;
}

describe('the repository of a conversation', () => {
  it('is a name at the host of its provider, GitHub by default', () => {
    assert.equal(urlOf('ada/app'), 'https://github.com/ada/app.git');
    assert.equal(urlOf('ada/app.git'), 'https://github.com/ada/app.git');
    assert.equal(urlOf('ada/app', { provider: 'bitbucket' }), 'https://bitbucket.org/ada/app.git');
    assert.equal(urlOf('a/b/c/d', { provider: 'gitlab' }), 'https://gitlab.com/a/b/c/d.git');
  });

  it('may be a URL, which also determines the provider', () => {
    assert.equal(urlOf('https://gitlab.com/a/b/c.git'), 'https://gitlab.com/a/b/c.git');
    assert.equal(urlOf('https://GitHub.com/ada/app/'), 'https://github.com/ada/app.git');
    const userHosts = { gitlab: 'git.example.com:8443' };
    assert.equal(
      urlOf('https://git.example.com:8443/a/b', { userHosts }),
      'https://git.example.com:8443/a/b.git',
    );
  });

  it('is refused because of its form if no host accepts it', () => {
    for (const text of [
      'ada/app',
      ' ada/app.git ',
      'https://gitlab.com/a/b/c',
      'https://own.example/scm/a/b',
    ])
      assert.equal(mayBeRepository(text), true, text);
    for (const text of [
      'not a repo!!',
      'ada',
      'a/b/c',
      'ada/..',
      'git@github.com:ada/app',
      'ssh://git@h/a/b',
      'https://github.com/ada',
      'https://ada:pw@github.com/ada/app',
    ])
      assert.equal(mayBeRepository(text), false, text);
  });

  it("is at the user's own host, or at the operator's", () => {
    const userHosts = { github: 'ghe.example.com' };
    assert.equal(urlOf('ada/app', { userHosts }), 'https://ghe.example.com/ada/app.git');
    const gitHosts = { github: 'http://10.0.0.1:3000' };
    assert.equal(urlOf('ada/app', { gitHosts }), 'http://10.0.0.1:3000/ada/app.git');
    const both = findRemote({ ...query, repository: 'ada/app', userHosts, gitHosts });
    assert.ok('remote' in both);
    assert.deepEqual([both.remote.origin, both.remote.namedByOperator], ['https://ghe.example.com', false]);
    const same = findRemote({
      ...query,
      repository: 'a/b',
      userHosts: { github: '10.0.0.1:3000' },
      gitHosts,
    });
    assert.ok('remote' in same && same.remote.namedByOperator);
  });

  it('needs a host for enterprise_sso', () => {
    assert.match(urlOf('ada/app', { provider: 'enterprise_sso' }), /^No host is set for enterprise_sso\./);
    const userHosts = { enterprise_sso: 'sso.example.com' };
    assert.equal(
      urlOf('ada/app', { provider: 'enterprise_sso', userHosts }),
      'https://sso.example.com/ada/app.git',
    );
  });

  const refused = [
    'app',
    'a/b/c',
    '../app',
    'ada/..',
    'ada/.',
    'ada/app?x',
    'ada/app#x',
    'ada/a b',
    'ada/a%2fb',
    'ada\\app',
    'ada/',
    'ada/.git',
    '-oProxyCommand=x/y z',
    'ada/ä',
    '',
    `ada/${'x'.repeat(600)}`,
    'https://evil.example.com/ada/app',
    'http://github.com/ada/app',
    'https://ada:pw@github.com/ada/app',
    'https://github.com/ada/app?x=1',
    'https://github.com/ada/app/tree/main',
    'https://github.com:444/ada/app',
    'git@github.com:ada/app',
    'ssh://git@github.com/ada/app',
    'ext::sh -c x',
    'file:///etc',
  ];
  for (const repository of refused)
    it(`cannot be ${JSON.stringify(repository).slice(0, 60)}`, () => {
      assert.doesNotMatch(urlOf(repository), /^https?:/);
    });

  it('can be written as an SSH URL', () => {
    const found = findRemote({ ...query, repository: 'ada/app' });
    assert.ok('remote' in found);
    assert.deepEqual(sshUrls(found.remote), [
      'git@github.com:ada/app.git',
      'ssh://git@github.com/ada/app.git',
    ]);
  });
});

describe('isBranchName', () => {
  const names = [
    'main',
    'a/b',
    'fix-1',
    'ünï',
    'a.b',
    'x@y',
    'a@',
    '@a',
    '$(x)',
    "it's",
    '',
    '@',
    '-a',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.',
    'a..b',
    'a.lock',
    'a.lock/b',
    'a b',
    'a~b',
    'a^b',
    'a:b',
    'a?b',
    'a*b',
    'a[b',
    'a\\b',
    'a@{b',
    'a\tb',
    'a\u007fb',
    'HEAD',
  ];
  for (const name of names)
    it(`agrees with git about ${JSON.stringify(name)}`, () => {
      assert.equal(isBranchName(name), isValidForGit(name));
    });

  function isValidForGit(name: string): boolean {
    try {
      execFileSync('git', ['check-ref-format', `refs/heads/${name}`], { stdio: 'ignore' });
      return !name.startsWith('-') && name !== 'HEAD' && name !== '@';
    } catch {
      return false;
    }
  }
});

describe('PARLEY_GIT_HOSTS', () => {
  it('names origins by provider', () => {
    assert.deepEqual(parseGitHosts('github=http://127.0.0.1:1234, gitlab=https://git.example.com/'), {
      github: 'http://127.0.0.1:1234',
      gitlab: 'https://git.example.com',
    });
  });

  for (const text of [
    '',
    'github',
    'github=',
    'github=git.example.com',
    'github=ssh://git.example.com',
    'github=https://a/b',
    'other=https://a',
    'github=https://a,github=https://b',
    'github=https://u:p@a',
    '__proto__=https://a',
  ])
    it(`cannot be ${JSON.stringify(text)}`, () => {
      assert.equal(parseGitHosts(text), undefined);
    });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { repositoryOf } from './remoteUrl.ts';

describe('the repository of a remote', () => {
  const shop = (origin: string, git_provider?: string) => ({
    repository: `${origin}/acme/shop`,
    git_provider,
  });
  const known: [string, object][] = [
    ['https://github.com/acme/shop.git', shop('https://github.com', 'github')],
    ['https://github.com/acme/shop', shop('https://github.com', 'github')],
    ['git@github.com:acme/shop.git', shop('https://github.com', 'github')],
    ['ssh://git@ssh.github.com:443/acme/shop.git', shop('https://github.com', 'github')],
    ['git@gitlab.com:/acme/shop.git', shop('https://gitlab.com', 'gitlab')],
    ['ssh://git@bitbucket.org/acme/shop', shop('https://bitbucket.org', 'bitbucket')],
    ['git.example.com:acme/shop.git', shop('https://git.example.com')],
    ['http://127.0.0.1:8080/acme/shop.git', shop('http://127.0.0.1:8080')],
    [
      'git@gitlab.com:group/sub/shop.git',
      { repository: 'https://gitlab.com/group/sub/shop', git_provider: 'gitlab' },
    ],
  ];
  for (const [url, expected] of known)
    it(`of ${url} is known`, () => assert.deepEqual(repositoryOf(url), expected));

  it('has no credentials of its URL', () => {
    for (const user of ['ada:ghp_secret@', 'ghp_secret@', 'x-access-token:ghp%5fsecret@']) {
      const found = repositoryOf(`https://${user}github.com/acme/shop.git`);
      assert.deepEqual(found, shop('https://github.com', 'github'));
    }
    assert.deepEqual(
      repositoryOf('https://github.com/acme/shop.git?token=secret#secret'),
      shop('https://github.com', 'github'),
    );
  });

  it('does not exist for folders of this machine and other protocols', () => {
    const other = ['/srv/git/shop.git', '../shop', 'file:///srv/shop', 'C:\\code\\shop', 'c:/code/shop'];
    for (const url of [...other, 'ftp://host/acme/shop', 'codecommit::eu://shop', '', 'github.com'])
      assert.equal(repositoryOf(url), undefined, url);
  });
});

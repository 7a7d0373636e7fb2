import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createFakeForge } from '../../../test/support/forge.ts';
import { listenOnLoopback, pretenders } from '../../../test/support/mcpServer.ts';
import { type GitProvider, gitProviders } from '../../git/providers.ts';
import type { GitRemote } from '../../git/remote.ts';
import { createForgeTools } from './tools.ts';

const token = 'ghp_hunter2hunter2';

type Fails = NonNullable<Parameters<typeof createFakeForge>[1]>['fails'];
type ToolsOptions = Parameters<typeof createForgeTools>[0];

function remoteOf(provider: GitProvider, origin: string): GitRemote {
  const path = 'team/app';
  return { provider, origin, path, url: `${origin}/${path}.git`, namedByOperator: true };
}

function useTools(options: ToolsOptions) {
  const tools = createForgeTools(options);
  const use = (name: string) => (given: object) => {
    const tool = tools.find((one) => one.name === name);
    assert.ok(tool);
    return tool.call(given, new AbortController().signal);
  };
  return { tools, open: use('open_pull_request'), read: use('read_issue') };
}

/** The tools for a forge on loopback, and the forge. */
async function reach(
  t: TestContext,
  provider: GitProvider,
  more: Partial<ToolsOptions> & { fails?: NonNullable<Fails> } = {},
) {
  const { fails, ...options } = more;
  const forge = createFakeForge(provider, fails === undefined ? {} : { fails });
  const { url } = await listenOnLoopback(t, forge.handle);
  const remote = remoteOf(provider, url);
  const used = { remote, token, selectedBranch: null, allowPrivate: () => false, ...options };
  return { ...used, ...useTools(used), forge, url };
}

const proposal = { title: 'Mend it', body: 'Closes #7.', branch: 'work' };
const requestUrls: Readonly<Record<GitProvider, string>> = {
  github: '/team/app/pull/1',
  enterprise_sso: '/team/app/pull/1',
  gitlab: '/team/app/-/merge_requests/1',
  bitbucket: '/team/app/pull-requests/1',
};

for (const provider of gitProviders) {
  const request = provider === 'gitlab' ? 'merge request' : 'pull request';

  describe(`open_pull_request at ${provider}`, () => {
    it('opens one into the default branch, with the token, and returns its number and URL', async (t) => {
      const { open, forge, url } = await reach(t, provider);
      const answer = await open(proposal);
      assert.deepEqual(answer, { text: `Opened ${request} #1: ${url}${requestUrls[provider]}` });
      assert.deepEqual(forge.opened, [{ ...proposal, base: 'trunk', number: 1 }]);
      assert.deepEqual(
        new Set(forge.asked.map(({ authorization }) => authorization)),
        new Set([`Bearer ${token}`]),
      );
    });

    it('prefers the branch of the conversation, and a named branch to that', async (t) => {
      const { open, forge } = await reach(t, provider, { selectedBranch: 'next' });
      await open(proposal);
      await open({ ...proposal, base: 'other' });
      await open({ ...proposal, branch: 'next' });
      assert.deepEqual(
        forge.opened.map(({ base }) => base),
        ['next', 'other', 'trunk'],
      );
    });

    it('returns the one that is already open for the branch', async (t) => {
      const { open, forge, url } = await reach(t, provider);
      await open(proposal);
      const again = await open({ ...proposal, title: 'Again' });
      assert.ok(again.text.startsWith('There is one for this branch already:'), again.text);
      assert.ok(again.text.includes(`${url}${requestUrls[provider]}`) && !again.failed);
      assert.equal(forge.opened.length, 1);
    });

    it('uses the terms of the provider', async (t) => {
      const { tools } = await reach(t, provider);
      assert.match(tools[0]?.description ?? '', new RegExp(`^Opens a ${request} in team/app `));
    });
  });

  describe(`read_issue at ${provider}`, () => {
    it('reads an issue with its discussion, the newest last', async (t) => {
      const { read } = await reach(t, provider);
      const { text, failed } = await read({ number: 7, kind: 'issue' });
      assert.equal(failed, undefined, text);
      assert.match(text, /^Issue #7: It breaks\nURL: https:\/\/git\.example\/7\nState: \w+\nBy: ada\n/);
      assert.match(
        text,
        /\n\nAlways\.\n\nbob, 2026-01-31T12:01:00Z:\nSince when\?\n\nada, 2026-01-31T12:02:00Z:\nSince May\.$/,
      );
    });

    it('reads a pull request with its branches and review comments', async (t) => {
      const { read } = await reach(t, provider);
      const { text } = await read({ number: 8, kind: 'pull_request' });
      const what = request.replace(/^./, (first) => first.toUpperCase());
      assert.ok(text.startsWith(`${what} #8: Mend it\n`), text);
      assert.match(text, /\nFrom branch mend to trunk\n/);
      assert.match(
        text,
        /\nbob, \S+ on src\/a\.ts:4(?: \(not resolved\))?:\nToo long\.\n\neve, \S+:\nNearly\.$/,
      );
    });
  });
}

describe('errors of a git provider', () => {
  for (const [status, json, sentence] of [
    [401, { message: 'Bad credentials' }, /does not take the token in the user's settings \(401\)/],
    [
      403,
      { message: 'Resource not accessible' },
      /does not allow the token .* \(403\)\..* It says: Resource not/,
    ],
    [404, { message: 'Not Found' }, /may not see it \(404\)/],
    [
      422,
      { message: 'Validation Failed', errors: [{ message: 'No commits between trunk and work' }] },
      /does not open it \(422\)\. Push the branch first.* It says: Validation Failed: No commits between trunk and work$/,
    ],
    [
      400,
      { message: { source_branch: ['does not exist'] } },
      /\(400\)\. Push .*: source_branch does not exist$/,
    ],
    [409, { error: { message: 'conflict' } }, /\(409\)\. Push .* It says: conflict$/],
    [429, {}, /too many requests \(429\)/],
    [500, { message: 'stack' }, /failed \(500\)\. Try again later\.$/],
  ] as const)
    it(`are sentences that say what to do, ${status}`, async (t) => {
      const { open } = await reach(t, 'github', { fails: { status, json } });
      const { text, failed } = await open(proposal);
      assert.equal(failed, true);
      assert.match(text, sentence);
    });

  it("repeat no token, and only the start of the provider's message", async (t) => {
    const message = `${token} and secret-part\n${'x'.repeat(1_000)}`;
    const fails = { status: 422, json: { message }, reads: true };
    const { open } = await reach(t, 'bitbucket', { fails, token: `${token}:secret-part` });
    const { text } = await open(proposal);
    assert.ok(text.length < 400 && !text.includes(token) && !text.includes('secret-part'), text);
    assert.ok(text.includes('**********'));
  });

  for (const [name, sentence] of [
    ['redirecting', /redirect, which is not followed\. The repository may have another name now\.$/],
    ['rubbish', /does not answer as the API of a git provider does\.$/],
    ['closing', /cannot be asked\. The connection to it failed\.$/],
    ['flooding', /cannot be asked\. Its response is larger than 8192 KiB\.$/],
  ] as const)
    it(`are told of a server that is ${name}`, async (t) => {
      const { url } = await listenOnLoopback(t, pretenders[name]);
      const { open } = useTools({
        remote: remoteOf('github', url),
        token,
        selectedBranch: null,
        allowPrivate: () => false,
      });
      const { text, failed } = await open(proposal);
      assert.deepEqual([failed, sentence.test(text)], [true, true], text);
    });

  it('are reported for a response without a URL', async (t) => {
    const { open } = await reach(t, 'gitlab', {
      fails: { status: 201, json: { iid: 3, web_url: 'file:///x' } },
    });
    const { text, failed } = await open(proposal);
    assert.deepEqual([failed, text.startsWith('The git provider does not say where it is.')], [true, true]);
  });
});

describe('the input of the tools', () => {
  it('is refused with a sentence if it is not valid, and nothing is requested', async (t) => {
    const { open, read, forge } = await reach(t, 'github');
    for (const [given, sentence] of [
      [{ ...proposal, branch: 'other:work' }, /^branch is no name of a branch/],
      [{ ...proposal, branch: '-x' }, /^branch is no name of a branch/],
      [{ ...proposal, base: '../x' }, /^base is no name of a branch/],
      [{ ...proposal, title: 'two\nlines' }, /^title must be one line/],
      [{ ...proposal, title: ' ' }, /^title must be one line/],
      [{ ...proposal, title: 'x'.repeat(251) }, /^title must be at most 250 characters/],
      [{ ...proposal, body: 'x'.repeat(60_001) }, /^body must be at most 60000 characters/],
      [{ ...proposal, repository: 'a/b' }, /^repository is not a known field/],
      [{ title: 'x', body: '' }, /^branch is required/],
    ] as const) {
      const { text, failed } = await open(given);
      assert.equal(failed, true);
      assert.match(text, sentence);
    }
    for (const given of [
      { number: 0, kind: 'issue' },
      { number: 1.5, kind: 'issue' },
      { number: 1, kind: 'x' },
    ])
      assert.equal((await read(given)).failed, true);
    assert.equal(forge.asked.length, 0);
  });

  it('cannot merge a branch into itself', async (t) => {
    const { open, forge } = await reach(t, 'github');
    const { text, failed } = await open({ ...proposal, branch: 'trunk' });
    assert.deepEqual([failed, text.startsWith('trunk cannot be merged into itself.')], [true, true]);
    assert.equal(forge.opened.length, 0);
  });

  it('opens at most 20 in a run', async (t) => {
    const { open, forge } = await reach(t, 'github');
    for (let i = 0; i < 20; i++) await open({ ...proposal, branch: `work-${i}` });
    const { text, failed } = await open(proposal);
    assert.deepEqual([failed, text], [true, 'This run has opened 20 already, and may open no more.']);
    assert.equal(forge.opened.length, 20);
  });

  it('opens at most 20 in a run, even if many are requested at once', async (t) => {
    const { open, forge } = await reach(t, 'github');
    await Promise.all(Array.from({ length: 24 }, (_, i) => open({ ...proposal, branch: `work-${i}` })));
    assert.equal(forge.opened.length, 20);
  });

  it('does not count refused ones', async (t) => {
    const { open } = await reach(t, 'github', { fails: { status: 422, json: { message: 'no commits' } } });
    for (let i = 0; i < 21; i++)
      assert.match((await open({ ...proposal, branch: `work-${i}` })).text, /no commits/);
  });
});

describe('the API of a git provider', () => {
  const asked: string[] = [];
  const lookup = async (hostname: string) => {
    asked.push(hostname);
    return [];
  };

  for (const [provider, origin, host] of [
    ['github', 'https://github.com', 'api.github.com'],
    ['github', 'https://git.example.com', 'git.example.com'],
    ['enterprise_sso', 'https://octo.ghe.com', 'api.octo.ghe.com'],
    ['gitlab', 'https://gitlab.com', 'gitlab.com'],
    ['bitbucket', 'https://bitbucket.org', 'api.bitbucket.org'],
  ] as const)
    it(`is ${host} for ${provider} at ${origin}`, async () => {
      asked.length = 0;
      const remote = { ...remoteOf(provider, origin), namedByOperator: false };
      const { open } = useTools({ remote, token, selectedBranch: null, allowPrivate: () => false, lookup });
      assert.match((await open(proposal)).text, /cannot be asked\. Its host name cannot be resolved\.$/);
      assert.deepEqual(asked, [host]);
    });

  it('does not exist for a self-hosted Bitbucket, which has another API', () => {
    const remote = { ...remoteOf('bitbucket', 'https://git.example.com'), namedByOperator: false };
    const tools = createForgeTools({ remote, token, selectedBranch: null, allowPrivate: () => false });
    assert.deepEqual(tools, []);
  });

  it('must not be private if users set it, unless that is allowed', async (t) => {
    const { remote, forge } = await reach(t, 'gitlab');
    const named = { ...remote, namedByOperator: false };
    const options = { remote: named, token, selectedBranch: null };
    const { open } = useTools({ ...options, allowPrivate: () => false });
    assert.match((await open(proposal)).text, /Its address is private/);
    assert.equal(forge.asked.length, 0);
    assert.match((await useTools({ ...options, allowPrivate: () => true }).open(proposal)).text, /^Opened/);
  });

  it('gets a pair of user and password of Bitbucket as basic authentication', async (t) => {
    const { open, forge } = await reach(t, 'bitbucket', { token: 'ada:app-password' });
    assert.match((await open(proposal)).text, /^Opened/);
    const basic = `Basic ${Buffer.from('ada:app-password').toString('base64')}`;
    assert.ok(forge.asked.every(({ authorization }) => authorization === basic));
  });
});

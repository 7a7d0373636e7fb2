import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { commit, git, startGitServer } from '../../test/support/gitServer.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import { createWorkspaceBench, remoteAt } from '../../test/support/workspaceBench.ts';
import type { GitProvider } from '../git/providers.ts';
import { processEngine } from '../sandbox/processEngine.ts';
import { createBridge } from './bridge.ts';
import { createGitHandler } from './git.ts';

const token = 'ghp_hunter2hunter2';
const zeros = '0'.repeat(40);
const ones = '1'.repeat(40);

type Handler = Parameters<typeof createGitHandler>[0];

/** A bridge before a host, and what asks it as a program inside would. */
async function ask(t: TestContext, origin: string, more: Partial<Handler> = {}) {
  const remote = remoteAt(origin, 'ada/app');
  const handler = createGitHandler({ remote, token, allowPrivate: () => false, ...more });
  const bridge = createBridge({ handlers: { git: handler.handle } });
  const port = await bridge.listen();
  t.after(() => bridge.close());
  return (path: string, init: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}/git${path}`, {
      ...init,
      redirect: 'manual',
      headers: { authorization: `Bearer ${bridge.token}`, ...init.headers },
    });
}

const echoes = async (t: TestContext) =>
  listenOnLoopback(t, (request, response) => {
    const service = /git-(upload|receive)-pack/.exec(request.url ?? '')?.[0];
    const kind = request.method === 'GET' ? 'advertisement' : 'result';
    response.writeHead(200, {
      'content-type': `application/x-${service}-${kind}`,
      'cache-control': 'no-cache',
      'set-cookie': 'session=1',
      'x-request-id': '1',
    });
    request.pipe(response, { end: false });
    request.on('end', () => response.end(`${request.method} ${request.url}`));
  });

const pkt = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;

describe('the git proxy', () => {
  it('forwards requests of git, with few headers each way', async (t) => {
    const host = await echoes(t);
    const asked = await ask(t, host.url);
    const answer = await asked('/ada/app.git/info/refs?service=git-upload-pack', {
      headers: {
        'git-protocol': 'version=2',
        cookie: 'a=b',
        'x-forwarded-for': '10.0.0.1',
        'user-agent': 'git/2',
      },
    });
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), 'GET /ada/app.git/info/refs?service=git-upload-pack');
    assert.deepEqual(
      [...answer.headers.keys()].filter(
        (name) => !['connection', 'date', 'keep-alive', 'transfer-encoding'].includes(name),
      ),
      ['cache-control', 'content-type'],
    );
    const sent = host.requests[0]?.headers ?? {};
    assert.equal(sent['git-protocol'], 'version=2');
    assert.equal(sent['user-agent'], 'git/2');
    assert.equal(sent['cookie'], undefined);
    assert.equal(sent['x-forwarded-for'], undefined);
  });

  it('forwards a compressed body unchanged', async (t) => {
    const asked = await ask(t, (await echoes(t)).url);
    const body = gzipSync('0011command=fetch0000');
    const answer = await asked('/ada/app.git/git-upload-pack', {
      method: 'POST',
      body,
      headers: { 'content-encoding': 'gzip' },
    });
    const back = Buffer.from(await answer.arrayBuffer());
    assert.deepEqual(back.subarray(0, body.length), body);
  });

  const forms: readonly [GitProvider, string, string][] = [
    ['github', 'tok', 'x-access-token:tok'],
    ['enterprise_sso', 'tok', 'x-access-token:tok'],
    ['gitlab', 'tok', 'oauth2:tok'],
    ['bitbucket', 'tok', 'x-token-auth:tok'],
    ['bitbucket', 'ada:app-password', 'ada:app-password'],
  ];
  for (const [provider, stored, wanted] of forms)
    it(`shows a token as ${provider} wants it: ${wanted}`, async (t) => {
      const host = await echoes(t);
      const asked = await ask(t, host.url, {
        remote: remoteAt(host.url, 'ada/app', { provider }),
        token: stored,
      });
      await (await asked('/ada/app.git/info/refs?service=git-upload-pack')).text();
      const sent = host.requests[0]?.headers.authorization?.replace('Basic ', '') ?? '';
      assert.equal(Buffer.from(sent, 'base64').toString(), wanted);
    });

  it('sends no credential if no token is stored', async (t) => {
    const host = await echoes(t);
    const asked = await ask(t, host.url, { token: null });
    await (await asked('/ada/app.git/info/refs?service=git-upload-pack')).text();
    assert.equal(host.requests[0]?.headers.authorization, undefined);
  });

  it('reaches no other repository and no other address, 403', async (t) => {
    const host = await echoes(t);
    const asked = await ask(t, host.url);
    const refused: readonly [path: string, method?: string][] = [
      ['/ada/other.git/info/refs?service=git-upload-pack'],
      ['/ada/app2.git/info/refs?service=git-upload-pack'],
      ['/ada/app/info/refs?service=git-upload-pack'],
      ['/ADA/APP.git/info/refs?service=git-upload-pack'],
      ['/ada/app.git/info/refs'],
      ['/ada/app.git/info/refs?service=git-upload-archive'],
      ['/ada/app.git/info/refs?service=git-upload-pack&x=1'],
      ['/ada/app.git/info/refs?service=git-upload-pack', 'POST'],
      ['/ada/app.git/git-upload-pack', 'GET'],
      ['/ada/app.git/HEAD'],
      ['/ada/app.git/objects/info/packs'],
      ['/ada/app.git/info/lfs/objects/batch', 'POST'],
      ['/ada/app.git/%2e%2e/other.git/info/refs?service=git-upload-pack'],
      ['/api/v3/user'],
      ['/'],
    ];
    for (const [path, method = 'GET'] of refused) {
      const answer = await asked(path, { method });
      assert.equal(answer.status, 403, path);
      assert.match(await answer.text(), /^[A-Z].*\.\n$/);
    }
    assert.equal(host.requests.length, 0);
  });

  it('never makes git ask for a password: 401 becomes 403', async (t) => {
    const host = await listenOnLoopback(t, (_, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm=x' }).end('no');
    });
    const asked = await ask(t, host.url);
    const answer = await asked('/ada/app.git/info/refs?service=git-receive-pack');
    assert.equal(answer.status, 403);
    assert.equal(answer.headers.get('www-authenticate'), null);
    assert.match(await answer.text(), /does not allow the token in your settings to push to ada\/app\.\n$/);
  });

  it('aborts its request to the host when the program inside disconnects', async (t) => {
    const host = await listenOnLoopback(t, () => {});
    const asked = await ask(t, host.url);
    const gone = new AbortController();
    const asking = asked('/ada/app.git/info/refs?service=git-upload-pack', { signal: gone.signal });
    await until('the host was asked', () => host.requests.length === 1);
    gone.abort();
    await assert.rejects(asking);
    await until('the host is left', async () => (await host.openConnections()) === 0);
  });
});

describe('a push through the git proxy', () => {
  const post = (body: string, headers: Record<string, string> = {}) => ({ method: 'POST', body, headers });
  const path = '/ada/app.git/git-receive-pack';

  it('forwards branches, and the flush with which git probes', async (t) => {
    const asked = await ask(t, (await echoes(t)).url);
    const command = pkt(`${zeros} ${ones} refs/heads/mine\0 report-status side-band-64k`);
    for (const body of [`${command}0000PACK…`, '0000']) {
      const answer = await asked(path, post(body));
      assert.ok((await answer.text()).startsWith(body));
    }
  });

  const refused: readonly [what: string, commands: readonly string[], sentence: string][] = [
    ['a tag', [`${zeros} ${ones} refs/tags/v1`], 'only branches can be pushed from here'],
    ['another ref', [`${zeros} ${ones} refs/pull/1/head`], 'only branches can be pushed from here'],
    ['an odd name', [`${zeros} ${ones} refs/heads/../tags/v1`], 'only branches can be pushed from here'],
    ['a deletion', [`${ones} ${zeros} refs/heads/main`], 'branches cannot be deleted from here'],
    [
      'a tag among branches',
      [`${zeros} ${ones} refs/heads/mine`, `${zeros} ${ones} refs/tags/v1`],
      'only branches can be pushed from here',
    ],
  ];
  for (const [what, commands, sentence] of refused)
    it(`refuses ${what} in git's own words, and nothing reaches the host`, async (t) => {
      const host = await echoes(t);
      const asked = await ask(t, host.url);
      const [first = '', ...others] = commands;
      const lines = [`${first}\0 report-status`, ...others].map(pkt).join('');
      const report = await (await asked(path, post(`${lines}0000PACK`))).text();
      const refusals = commands.map((command) => pkt(`ng ${command.split(' ')[2]} ${sentence}\n`)).join('');
      assert.equal(report, `${pkt('unpack ok\n')}${refusals}0000`);
      assert.equal(host.requests.length, 0);
    });

  it('refuses what it cannot parse, 403', async (t) => {
    const host = await echoes(t);
    const asked = await ask(t, host.url);
    const tag = `${zeros} ${ones} refs/tags/v1`;
    const bodies = [
      '',
      'zzzz',
      '0001',
      '0004',
      pkt('push-cert\0 report-status'),
      pkt(`${zeros} ${ones} refs/heads/mine\0x`),
      `${pkt('hello')}0000`,
      pkt(`${zeros} ${ones} refs/heads/${'x'.repeat(60_000)}`).repeat(6),
      `${pkt(tag)}0000`,
    ];
    for (const body of bodies) assert.equal((await asked(path, post(body))).status, 403, body.slice(0, 80));
    const packed = await asked(path, post('0000', { 'content-encoding': 'gzip' }));
    assert.equal(packed.status, 403);
    assert.equal(host.requests.length, 0);
  });

  it('shows the refusal to the agent, and the branch arrives without the tag', async (t) => {
    const server = await startGitServer(t, { credential: `x-access-token:${token}` });
    const repository = server.repository('ada/app');
    commit(repository, 'main', { a: 'main' });
    const remote = remoteAt(server.url, 'ada/app');
    const bench = await createWorkspaceBench(t, { engine: processEngine, remote, token });
    await bench.prepare();
    const tag = await bench.asAgent('git tag v1 && git push origin v1');
    assert.notEqual(tag.code, 0);
    assert.match(tag.stderr.toString(), /remote rejected.*v1.*\(only branches can be pushed from here\)/);
    const deletion = await bench.asAgent('git push origin :main');
    assert.match(deletion.stderr.toString(), /\(branches cannot be deleted from here\)/);
    assert.equal((await bench.asAgent('git push -q origin HEAD:refs/heads/mine')).code, 0);
    assert.equal(
      git(repository, ['for-each-ref', '--format=%(refname)']),
      'refs/heads/main\nrefs/heads/mine',
    );
    const other = await bench.asAgent(`git ls-remote ${bench.sandbox.bridge?.origin}/git/ada/other.git`);
    assert.match(other.stderr.toString(), /remote: This run may reach the repository ada\/app only\./);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { listenOnLoopback, type McpForm, pretenders, startMcpServer } from '../../test/support/mcpServer.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { AppError } from '../errors.ts';
import { createOutgoingFetch, type OutgoingFetch } from '../outgoing/fetch.ts';
import { kib } from '../validation/schema.ts';
import { compileCheck } from '../validation/validation.ts';
import { createMcpCheck } from './check.ts';
import { CheckedMcp, CheckMcp, checkedMcpExample, checkMcpExample } from './checkSchema.ts';
import { noMcp } from './secrets.ts';

const path = '/api/mcp/check';
const canary = 'CANARY-mcp-key-51c0';
const forms: readonly McpForm[] = ['json', 'stream', 'sse'];
const listOf = (form: McpForm) => (form === 'sse' ? 'sse_servers' : 'shttp_servers');

async function checkOne(service: TestService, server: object | string, list = 'shttp_servers') {
  const { status, body } = await service.ask(path, { json: { mcp_config: { [list]: [server] } } });
  assert.equal(status, 200);
  assert.equal(body.servers.length, 1);
  return body.servers[0];
}

interface Direct {
  readonly timeoutMs?: number;
  readonly allowPrivate?: () => Promise<boolean>;
  readonly fetch?: OutgoingFetch;
}

/** The check without the service around it, on a network where no name is known. */
function createCheck({ timeoutMs = 10_000, allowPrivate = async () => true, fetch }: Direct = {}) {
  const lookup = async () => [];
  const limits = { timeoutMs: 60_000, responseBytesMax: 512 * kib };
  const check = createMcpCheck({
    settings: { openMcp: async () => noMcp.masked },
    fetch: fetch ?? createOutgoingFetch({ allowPrivate, lookup, ...limits }),
    timeoutMs,
  });
  return async (list: 'sse_servers' | 'shttp_servers', ...urls: string[]) =>
    check(1, { mcp_config: { [list]: urls } });
}

describe('POST /api/mcp/check', () => {
  for (const form of forms) {
    it(`lists the tools of a server that answers by ${form}, and closes the connection, 200`, async (t) => {
      const service = await startService({}, t);
      const server = await startMcpServer(t, { form });
      assert.deepEqual(await checkOne(service, `${server.url}?q=${canary}`, listOf(form)), {
        list: listOf(form),
        index: 0,
        name: server.url,
        status: 'ok',
        tools: ['search', 'fetch'],
      });
      await until('its connections end', async () => (await server.openConnections()) === 0);
    });

    it(`sends the api_key to a server that answers by ${form}, and shows it nowhere`, async (t) => {
      const service = await startService({}, t);
      const server = await startMcpServer(t, { form, key: canary, tools: ['a', `echo-${canary}`] });
      const list = listOf(form);
      const good = await checkOne(service, { url: server.url, api_key: canary }, list);
      assert.deepEqual(good.tools, ['a', 'echo-**********']);
      const wrong = await checkOne(service, { url: server.url, api_key: `${canary}-wrong` }, list);
      assert.equal(wrong.reason, 'It responded with 401: the api_key is not accepted.');
      const without = await checkOne(service, server.url, list);
      assert.equal(without.reason, 'It responded with 401: it requires an api_key.');
      const unsendable = await checkOne(service, { url: server.url, api_key: `${canary}\n` }, list);
      assert.equal(unsendable.reason, 'Its api_key holds characters that cannot be sent.');
      const shown = JSON.stringify([good, wrong, without, unsendable]) + service.logs();
      assert.ok(shown.includes(path) && !shown.includes('CANARY'), shown);
    });
  }

  it('answers in the order of the lists and says what cannot be checked', async (t) => {
    const service = await startService({}, t);
    const server = await startMcpServer(t, { form: 'json', tools: [] });
    const { body } = await service.ask(path, {
      json: {
        mcp_config: {
          shttp_servers: [server.url, 'wss://tools.test/mcp?token=x', server.url],
          stdio_servers: [{ name: 'files', command: 'npx', env: { TOKEN: canary } }],
          sse_servers: ['ws://127.0.0.1:9/sse'],
        },
      },
    });
    const webSocket = 'It is a WebSocket server; only http and https servers can be checked.';
    const ok = { status: 'ok', tools: [] };
    assert.deepEqual(body.servers, [
      {
        list: 'sse_servers',
        index: 0,
        name: 'ws://127.0.0.1:9/sse',
        status: 'not_checked',
        reason: webSocket,
      },
      {
        list: 'stdio_servers',
        index: 0,
        name: 'files',
        status: 'not_checked',
        reason: 'It runs inside a sandbox, and there is none yet.',
      },
      { list: 'shttp_servers', index: 0, name: server.url, ...ok },
      {
        list: 'shttp_servers',
        index: 1,
        name: 'wss://tools.test/mcp',
        status: 'not_checked',
        reason: webSocket,
      },
      { list: 'shttp_servers', index: 2, name: server.url, ...ok },
    ]);
  });

  it('asks within the timeout of the server, where that is shorter', async (t) => {
    const service = await startService({}, t);
    const server = await listenOnLoopback(t, pretenders.hanging);
    const { status, reason } = await checkOne(service, { url: server.url, timeout: 1 });
    assert.deepEqual([status, reason], ['failed', 'It did not respond within 1 s.']);
  });

  it('refuses a bad configuration and unknown members, 422', async (t) => {
    const service = await startService({}, t);
    for (const json of [
      { mcp_config: { sse_servers: ['nonsense'] } },
      { mcp_configs: {} },
      { mcp_config: 1 },
    ])
      assert.equal((await service.ask(path, { json })).status, 422);
  });

  it('needs a session key with settings:read, 401 and 403', async (t) => {
    const service = await startService({ env: { PARLEY_AUTH_TOKEN: 'a-bearer-token' } }, t);
    assert.equal((await service.ask(path, { json: {}, key: null })).status, 401);
    assert.equal((await service.ask(path, { json: {}, bearer: 'a-bearer-token' })).status, 401);
    const make = (scopes: string[]) => service.ask('/api/keys', { json: { name: 'k', scopes } });
    const writer = await make(['settings:write']);
    assert.equal((await service.ask(path, { json: {}, key: writer.body.key })).status, 403);
    const reader = await make(['settings:read']);
    assert.equal((await service.ask(path, { json: {}, key: reader.body.key })).status, 200);
  });

  it('has examples that pass their own schemas', () => {
    assert.equal(compileCheck(CheckMcp)(checkMcpExample), undefined);
    assert.equal(compileCheck(CheckedMcp)(checkedMcpExample), undefined);
  });
});

for (const kind of databaseKinds) {
  describe(`POST /api/mcp/check on ${kind}`, () => {
    it('checks the stored servers when none are sent, with their keys', async (t) => {
      const service = await startService({ kind }, t);
      assert.deepEqual((await service.ask(path, { json: {} })).body, { servers: [] });
      const server = await startMcpServer(t, { form: 'json', key: canary });
      const mcp_config = { shttp_servers: [{ url: server.url, api_key: canary }] };
      await service.ask('/api/settings', { method: 'PATCH', json: { mcp_config } });
      for (const ask of [{ method: 'POST' }, { json: {} }, { json: { mcp_config: null } }])
        assert.equal((await service.ask(path, ask)).body.servers[0].status, 'ok');
    });

    it('takes masked keys from the stored servers, and refuses those that match none, 422', async (t) => {
      const service = await startService({ kind }, t);
      const server = await startMcpServer(t, { form: 'json', key: canary });
      const stored = { shttp_servers: [{ url: server.url, api_key: canary }] };
      await service.ask('/api/settings', { method: 'PATCH', json: { mcp_config: stored } });
      const masked = { url: server.url, api_key: '**********' };
      assert.equal((await checkOne(service, masked)).status, 'ok');
      const elsewhere = await startMcpServer(t, { form: 'json' });
      const { status, body } = await service.ask(path, {
        json: { mcp_config: { shttp_servers: [masked, { ...masked, url: elsewhere.url }] } },
      });
      assert.equal(status, 422);
      assert.deepEqual(
        body.details.map(({ path }: { path: string }) => path),
        ['mcp_config.shttp_servers[1].api_key'],
      );
      assert.equal(elsewhere.requests.length, 0);
    });

    it('reaches no private address once there is a second user, unless the operator allows it', async (t) => {
      const service = await startService({ kind }, t);
      const server = await startMcpServer(t, { form: 'json' });
      await service.ask('/api/keys', { json: { name: 'k', user: 'ada' } });
      const refused = await checkOne(service, server.url);
      assert.deepEqual(
        [refused.status, refused.reason],
        [
          'failed',
          'Its address is private, which is not allowed; the operator can allow this host with PARLEY_ALLOW_PRIVATE_ADDRESSES.',
        ],
      );
      assert.equal(server.requests.length, 0);
      const { host } = new URL(server.url);
      for (const [value, status] of [
        ['1', 'ok'],
        [host, 'ok'],
        ['127.0.0.1:1', 'failed'],
      ] as const) {
        const env = { PARLEY_ALLOW_PRIVATE_ADDRESSES: value };
        const allowed = await startService({ kind, env }, t);
        await allowed.ask('/api/keys', { json: { name: 'k', user: 'ada' } });
        assert.equal((await checkOne(allowed, server.url)).status, status, value);
      }
    });
  });
}

describe('a check of something that is no working server', () => {
  const reasons: readonly [keyof typeof pretenders, string][] = [
    ['rubbish', 'It does not speak MCP.'],
    ['brokenJson', 'It does not speak MCP.'],
    ['hanging', 'It did not respond within 0.2 s.'],
    ['stalling', 'It did not respond within 0.2 s.'],
    ['redirecting', 'It returned a redirect, which is not followed.'],
    ['failing', 'It responded with 500.'],
    ['closing', 'The connection to it failed.'],
    ['flooding', 'Its response is larger than 512 KiB.'],
  ];
  for (const list of ['sse_servers', 'shttp_servers'] as const)
    for (const [name, reason] of reasons)
      it(`says of ${name} ${list}: ${reason}`, async (t) => {
        const server = await listenOnLoopback(t, pretenders[name]);
        const check = createCheck(reason.includes('0.2 s') ? { timeoutMs: 200 } : {});
        const [checked] = await check(list, server.url);
        assert.deepEqual([checked?.status, checked?.reason], ['failed', reason]);
        await until('its connections end', async () => (await server.openConnections()) === 0);
      });

  it('says that it is gone, unknown or of the other kind', async (t) => {
    const check = createCheck();
    const server = await startMcpServer(t, { form: 'json' });
    const [asSse] = await check('sse_servers', server.url);
    assert.equal(asSse?.reason, 'It responded with 405: this URL is not for this type of MCP server.');
    const [unknown] = await check('shttp_servers', 'http://nowhere.test/mcp');
    assert.equal(unknown?.reason, 'Its host name cannot be resolved.');
    const [linkLocal] = await check('shttp_servers', 'http://169.254.169.254/mcp');
    assert.equal(linkLocal?.reason, 'Its address is link-local or reserved, which is never allowed.');
  });

  it('says which MCP error it answered with', async (t) => {
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: canary } });
    const server = await listenOnLoopback(t, (request, response) => {
      const discover = request.headers['mcp-method'] === 'server/discover';
      response
        .writeHead(discover ? 404 : 200, { 'content-type': 'application/json' })
        .end(discover ? '' : answer);
    });
    const [checked] = await createCheck()('shttp_servers', server.url);
    assert.equal(checked?.reason, 'It returned the MCP error -32603.');
  });

  it('fails as a whole when the service itself cannot go on', async () => {
    const allowPrivate = async (): Promise<boolean> => {
      throw new AppError('database_unavailable', 'The database does not answer.');
    };
    await assert.rejects(createCheck({ allowPrivate })('shttp_servers', 'http://127.0.0.1:9'), AppError);
  });
});

describe('a check of a working server', () => {
  it('reads all pages, up to 500 names of 200 characters', async (t) => {
    const tools = Array.from({ length: 620 }, (_, i) => `${i}`.padEnd(i === 0 ? 300 : 1, 'x'));
    const server = await startMcpServer(t, { form: 'json', tools, pageSize: 90 });
    const [checked] = await createCheck()('shttp_servers', server.url);
    assert.equal(checked?.tools?.length, 500);
    assert.equal(checked?.tools?.[0], tools[0]?.slice(0, 200));
    assert.deepEqual(checked?.tools?.slice(1), tools.slice(1, 500));
  });

  it('is content with one that offers no tools', async (t) => {
    const server = await startMcpServer(t, { form: 'stream', offersTools: false });
    const [checked] = await createCheck()('shttp_servers', server.url);
    assert.deepEqual([checked?.status, checked?.tools], ['ok', []]);
  });

  it('ends the session, and every connection that the server holds open', async (t) => {
    const server = await startMcpServer(t, { form: 'json', lingers: true });
    const [checked] = await createCheck()('shttp_servers', server.url);
    assert.equal(checked?.status, 'ok');
    assert.equal(server.requests.at(-1)?.method, 'DELETE');
    await until('its connections end', async () => (await server.openConnections()) === 0);
  });

  it('asks at most eight at once, and every one', async () => {
    let open = 0;
    let openMost = 0;
    const fetch: OutgoingFetch = (_, init) =>
      new Promise((_, reject) => {
        open += 1;
        openMost = Math.max(openMost, open);
        init?.signal?.addEventListener('abort', () => {
          open -= 1;
          reject(init.signal?.reason);
        });
      });
    const urls = Array.from({ length: 20 }, (_, i) => `http://127.0.0.1/${i}`);
    const checked = await createCheck({ fetch, timeoutMs: 50 })('shttp_servers', ...urls);
    assert.equal(openMost, 8);
    assert.deepEqual(
      checked.map(({ name }) => name),
      urls,
    );
  });
});

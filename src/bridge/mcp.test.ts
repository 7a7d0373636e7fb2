import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { createMCPClient } from '@ai-sdk/mcp';
import { listenOnLoopback, type McpForm, pretenders, startMcpServer } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import type { Remote } from '../mcp/remotes.ts';
import { createBridge } from './bridge.ts';
import { createMcpHandler } from './mcp.ts';

interface Reached {
  readonly url: string;
  readonly headers: { Authorization: string };
}

/** The bridge to these servers. */
async function reach(t: TestContext, remotes: readonly Remote[], allowPrivate = true): Promise<Reached> {
  const mcp = createMcpHandler({ remotes, outgoing: { allowPrivate: () => allowPrivate } });
  const bridge = createBridge({ handlers: { mcp } });
  const port = await bridge.listen();
  t.after(() => bridge.close());
  return { url: `http://127.0.0.1:${port}/mcp`, headers: { Authorization: `Bearer ${bridge.token}` } };
}

async function reachHandler(t: TestContext, handler: RequestListener, more: Partial<Remote> = {}) {
  const server = await listenOnLoopback(t, handler);
  const remote: Remote = {
    server: { url: `${server.url}/mcp`, api_key: 'secret' },
    transport: 'http',
    ...more,
  };
  return { server, ...(await reach(t, [remote])) };
}

describe('an MCP server behind the bridge', () => {
  for (const form of ['json', 'stream', 'sse'] as const satisfies McpForm[])
    it(`is spoken to in the form ${form}, with a key that only the bridge has`, async (t) => {
      const server = await startMcpServer(t, { form, key: 'secret' });
      const transport = form === 'sse' ? 'sse' : 'http';
      const other: Remote = { server: { url: 'http://127.0.0.1:1/' }, transport: 'http' };
      const { url, headers } = await reach(t, [
        other,
        { server: { url: server.url, api_key: 'secret' }, transport },
      ]);
      const client = await createMCPClient({ transport: { type: transport, url: `${url}/1`, headers } });
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['search', 'fetch'],
      );
      await client.close();
      assert.ok(server.requests.every(({ headers: sent }) => sent.authorization === 'Bearer secret'));
    });

  it('forwards a stream piece by piece, and ends with its reader', async (t) => {
    let send: ((text: string) => void) | undefined;
    const { url, headers, server } = await reachHandler(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      send = (text) => response.write(text);
    });
    const stop = new AbortController();
    const answer = await fetch(`${url}/0`, { headers, signal: stop.signal });
    const reader = answer.body?.getReader();
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      send?.(text);
      assert.equal(new TextDecoder().decode((await reader?.read())?.value), text);
    }
    stop.abort();
    await until('the end of the connection', async () => (await server.openConnections()) === 0);
  });

  it('gets only the headers that it needs, and returns only such', async (t) => {
    const { url, headers, server } = await reachHandler(t, (_, response) => {
      response.writeHead(200, { 'mcp-session-id': 'one', 'set-cookie': 'a=b', 'x-other': 'c' }).end('{}');
    });
    const sent = { ...headers, cookie: 'a=b', 'x-other': 'c', 'mcp-session-id': 'one' };
    const answer = await fetch(`${url}/0`, { method: 'POST', headers: sent, body: '{}' });
    assert.equal(answer.headers.get('mcp-session-id'), 'one');
    assert.deepEqual([answer.headers.get('set-cookie'), answer.headers.get('x-other')], [null, null]);
    const got = server.requests[0]?.headers ?? {};
    assert.deepEqual([got['mcp-session-id'], got.cookie, got['x-other']], ['one', undefined, undefined]);
    assert.equal(got.authorization, 'Bearer secret');
  });

  it('is not reached without the token of the run, 401', async (t) => {
    const { url, server } = await reachHandler(t, (_, response) => void response.end());
    for (const headers of [{}, { Authorization: 'Bearer secret' }])
      assert.equal((await fetch(`${url}/0`, { headers })).status, 401);
    assert.equal(server.requests.length, 0);
  });

  it('is the only thing of its host that can be reached, 404', async (t) => {
    const { url, headers, server } = await reachHandler(t, (_, response) => void response.end());
    for (const path of ['/1', '/0/admin', '/0/1', '/0?x=1', '/', '', '/-1', '/0/../1', '/00000'])
      assert.equal((await fetch(`${url}${path}`, { headers })).status, 404, path);
    assert.equal((await fetch(`${url}/0`, { method: 'PUT', headers })).status, 404);
    assert.equal(server.requests.length, 0);
  });

  it('is not followed elsewhere, and errors do not repeat what was sent, 502', async (t) => {
    for (const [name, words] of [
      ['redirecting', /redirect/],
      ['closing', /connection to it failed/],
    ] as const) {
      const { url, headers } = await reachHandler(t, pretenders[name]);
      const answer = await fetch(`${url}/0`, { headers });
      const text = await answer.text();
      assert.equal(answer.status, 502);
      assert.match(text, words);
      assert.ok(!text.includes('secret'));
    }
  });

  it('forwards errors of the server unchanged', async (t) => {
    const { url, headers } = await reachHandler(t, pretenders.failing);
    assert.equal((await fetch(`${url}/0`, { headers })).status, 500);
  });

  it('times out after its own timeout, 502', async (t) => {
    const hanging = await listenOnLoopback(t, pretenders.hanging);
    const remote: Remote = { server: { url: hanging.url, timeout: 0.05 }, transport: 'http' };
    const { url, headers } = await reach(t, [remote]);
    const answer = await fetch(`${url}/0`, { headers });
    assert.equal(answer.status, 502);
    assert.match(await answer.text(), /did not respond within 0.05 s/);
  });

  it('is refused at a private address if those are not allowed, 502', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end());
    const { url, headers } = await reach(t, [{ server: { url: server.url }, transport: 'http' }], false);
    assert.equal((await fetch(`${url}/0`, { headers })).status, 502);
    assert.equal(server.requests.length, 0);
  });

  it('accepts no message beyond the limit, 413', async (t) => {
    const { url, headers, server } = await reachHandler(t, (_, response) => void response.end());
    const body = 'x'.repeat(8 * 1024 * 1024 + 1);
    assert.equal((await fetch(`${url}/0`, { method: 'POST', headers, body })).status, 413);
    assert.equal(server.requests.length, 0);
  });

  it('cannot redirect messages to another server', async (t) => {
    const { url, headers } = await reachHandler(
      t,
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': hello\n\nevent: endpoint\ndata: http://127.0.0.1:1/messages\n\n');
      },
      { transport: 'sse' },
    );
    const answer = await fetch(`${url}/0`, { headers });
    await assert.rejects(answer.text());
  });
});

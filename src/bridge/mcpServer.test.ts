import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createMCPClient } from '@ai-sdk/mcp';
import { until } from '../../test/support/until.ts';
import { createBodies } from './bodies.ts';
import { createBridge } from './bridge.ts';
import { createMcpServer, type Tool } from './mcpServer.ts';

const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object' },
  call: async (given) => ({ text: JSON.stringify(given) }),
};
const failing: Tool = { ...echo, name: 'failing', call: async () => ({ text: 'No.', failed: true }) };
const throwing: Tool = {
  ...echo,
  name: 'throwing',
  call: async () => {
    throw new Error('a secret');
  },
};

async function start(
  t: TestContext,
  tools: readonly Tool[] = [echo, failing, throwing],
  now = () => performance.now(),
) {
  const parley = createMcpServer({ name: 'parley', tools, bodies: createBodies(), now });
  const bridge = createBridge({ handlers: { parley } });
  const port = await bridge.listen();
  t.after(() => bridge.close());
  const url = `http://127.0.0.1:${port}/parley`;
  const headers = { Authorization: `Bearer ${bridge.token}` };
  const post = (body: unknown, signal?: AbortSignal) =>
    fetch(url, {
      method: 'POST',
      headers,
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  const call = async (method: string, params?: unknown) => {
    const answer = await post({ jsonrpc: '2.0', id: 1, method, params });
    return (await answer.json()) as { result?: Record<string, unknown>; error?: { code: number } };
  };
  return { url, headers, post, call };
}

describe('the MCP server of the bridge', () => {
  it('works with a client of the protocol', async (t) => {
    const { url, headers } = await start(t);
    const client = await createMCPClient({ transport: { type: 'http', url, headers } });
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name, description }) => [name, description]),
      ['echo', 'failing', 'throwing'].map((name) => [name, 'Says it again.']),
    );
    const made = await client.tools();
    const options = { toolCallId: '1', messages: [], context: {} };
    const answer = await made['echo']?.execute?.({ a: 1 }, options as never);
    assert.deepEqual(answer, { content: [{ type: 'text', text: '{"a":1}' }], isError: false });
    await client.close();
  });

  it("uses the client's version if it supports it", async (t) => {
    const { call } = await start(t);
    for (const [asked, answered] of [
      ['2025-03-26', '2025-03-26'],
      ['1999-01-01', '2025-06-18'],
      [undefined, '2025-06-18'],
    ])
      assert.equal(
        (await call('initialize', { protocolVersion: asked })).result?.['protocolVersion'],
        answered,
      );
    assert.deepEqual((await call('ping')).result, {});
  });

  it('reports errors of a tool, and nothing that must stay hidden', async (t) => {
    const { call, post } = await start(t);
    const { result } = await call('tools/call', { name: 'failing' });
    assert.deepEqual(result, { content: [{ type: 'text', text: 'No.' }], isError: true });
    const thrown = await post({
      jsonrpc: '2.0',
      id: 'a',
      method: 'tools/call',
      params: { name: 'throwing' },
    });
    const text = await thrown.text();
    assert.deepEqual(JSON.parse(text), {
      jsonrpc: '2.0',
      id: 'a',
      error: { code: -32_603, message: 'The tool failed.' },
    });
    assert.equal((await call('tools/call', { name: 'other' })).error?.code, -32_602);
    assert.equal((await call('resources/list')).error?.code, -32_601);
    assert.equal((await call('constructor')).error?.code, -32_601);
  });

  it('accepts notifications without a response, 202', async (t) => {
    const { post } = await start(t);
    const answer = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.deepEqual([answer.status, await answer.text()], [202, '']);
    assert.equal((await post({ jsonrpc: '2.0', id: 1, result: {} })).status, 202);
  });

  it('refuses malformed messages, 400, and oversized ones, 413', async (t) => {
    const { post } = await start(t);
    for (const [body, code] of [
      ['{', -32_700],
      [[{ jsonrpc: '2.0', id: 1, method: 'ping' }], -32_600],
      [{ jsonrpc: '2.0', id: 1, method: 7 }, -32_600],
    ] as const) {
      const answer = await post(body);
      assert.equal(answer.status, 400);
      assert.equal(((await answer.json()) as { error: { code: number } }).error.code, code);
    }
    assert.equal((await post('x'.repeat(1024 * 1024 + 1))).status, 413);
  });

  it('has no stream, 405, nothing below its path, 404, and nothing without the token, 401', async (t) => {
    const { url, headers } = await start(t);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(url, { method, headers });
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
    }
    assert.equal((await fetch(`${url}/x`, { method: 'POST', headers })).status, 404);
    assert.equal((await fetch(url, { method: 'POST' })).status, 401);
  });

  it('aborts a call whose caller has disconnected, and lets no more than eight wait', async (t) => {
    let aborted = 0;
    let begun = 0;
    const slow: Tool = {
      ...echo,
      name: 'slow',
      call: (_, signal) => {
        begun += 1;
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            aborted += 1;
            resolve({ text: 'late' });
          }),
        );
      },
    };
    const { post, call } = await start(t, [slow]);
    const left = new AbortController();
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'slow' } };
    const calls = Array.from({ length: 8 }, () => post(body, left.signal).catch(() => 'left'));
    await until('eight are under way', () => begun === 8);
    assert.equal((await call('tools/call', { name: 'slow' })).error?.code, -32_603);
    left.abort();
    assert.deepEqual(new Set(await Promise.all(calls)), new Set(['left']));
    await until('all are ended', () => aborted === 8);
  });

  it('accepts sixty calls per minute', async (t) => {
    let now = 0;
    const { call } = await start(t, [echo], () => now);
    const use = async () => (await call('tools/call', { name: 'echo' })).error?.code;
    for (let i = 0; i < 60; i++) assert.equal(await use(), undefined);
    assert.equal(await use(), -32_603);
    now = 60_000;
    assert.equal(await use(), undefined);
  });
});

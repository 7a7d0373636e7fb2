import assert from 'node:assert/strict';
import { connect, createServer, Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connectRaw } from '../../test/support/rawHttp.ts';
import { until } from '../../test/support/until.ts';
import { createBridge } from './bridge.ts';
import { bridgeEnvironment } from './environment.ts';

type Options = Parameters<typeof createBridge>[0];

async function listen(t: TestContext, options: Partial<Options> = {}) {
  const bridge = createBridge({
    handlers: { say: (_, response, rest) => void response.end(rest) },
    ...options,
  });
  t.after(() => bridge.close());
  const port = await bridge.listen();
  const get = (path: string, headers: Record<string, string> = { authorization: `Bearer ${bridge.token}` }) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { bridge, port, get };
}

describe('the bridge', () => {
  it('passes the rest of the path to the handler', async (t) => {
    const { get } = await listen(t);
    assert.equal(await (await get('/say/a/b?c=d')).text(), '/a/b?c=d');
  });

  it('accepts the token in every form in which API keys are sent, and no other, 401', async (t) => {
    const { get, bridge } = await listen(t);
    const basic = Buffer.from(`x:${bridge.token}`).toString('base64');
    const good = [
      { authorization: `Bearer ${bridge.token}` },
      { authorization: `Basic ${basic}` },
      { 'x-api-key': bridge.token },
      { 'x-goog-api-key': bridge.token },
    ];
    for (const headers of good) assert.equal((await get('/say', headers)).status, 200);
    const bad = [
      {},
      { authorization: `Bearer ${bridge.token}x` },
      { authorization: bridge.token },
      { 'x-api-key': '' },
    ];
    for (const headers of bad)
      assert.equal((await get('/say', headers as Record<string, string>)).status, 401);
  });

  it('has no other segment, 404', async (t) => {
    const { get } = await listen(t);
    for (const path of ['/other', '/', '/toString', '/SAY'])
      assert.equal((await get(path)).status, 404, path);
  });

  it('survives a handler that fails, at once or later, 500, and reports it', async (t) => {
    const errors: unknown[] = [];
    const { get } = await listen(t, {
      handlers: {
        now: () => {
          throw new Error('now');
        },
        later: async () => {
          await Promise.resolve();
          throw new Error('later');
        },
      },
      onError: (error) => errors.push((error as Error).message),
    });
    for (const path of ['/now', '/later']) {
      const answer = await get(path);
      assert.deepEqual([answer.status, await answer.text()], [500, 'The bridge failed.\n']);
    }
    assert.deepEqual(errors, ['now', 'later']);
  });

  it('survives a handler that writes after the end', async (t) => {
    const written = Promise.withResolvers<unknown>();
    const handlers: Options['handlers'] = {
      late: (_, response) => {
        response.on('close', () => {}).end('done');
        response.write('more', written.resolve);
      },
    };
    const { get } = await listen(t, { handlers });
    // The answer may be broken off; what counts is that nobody but the writer hears of it.
    await get('/late').catch(() => {});
    assert.match(String(await written.promise), /write after end/);
    assert.equal((await get('/other')).status, 404);
  });

  it('reaches other servers only with an egress, 403', async (t) => {
    const { port, bridge } = await listen(t);
    const basic = Buffer.from(`run:${bridge.token}`).toString('base64');
    for (const line of ['CONNECT a.example:443', 'GET http://a.example/']) {
      const { received } = connectRaw(
        t,
        port,
        `${line} HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`,
      );
      await until('an answer', () => received().includes('\r\n\r\n'));
      assert.match(received(), /^HTTP\/1\.1 403 /, line);
    }
  });

  it('closes a connection that sends no request', async (t) => {
    const { port } = await listen(t, { headersMs: 30 });
    for (const text of ['', 'GET /say HTTP/1.1\r\n']) await connectRaw(t, port, text).closed;
  });

  it('serves a foreign listener with the same limit on headers, and closes it', async (t) => {
    const { bridge } = await listen(t, { headersMs: 30 });
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const release = bridge.take(listener);
    const { port } = listener.address() as { port: number };
    const answer = await fetch(`http://127.0.0.1:${port}/say/x`, { headers: { 'x-api-key': bridge.token } });
    assert.equal(await answer.text(), '/x');
    await connectRaw(t, port, 'GET /').closed;
    release();
    assert.equal(listener.listening, false);
  });

  it('sends each piece at once, also on connections of a foreign listener', async (t) => {
    const { bridge } = await listen(t);
    const listener = createServer();
    const release = bridge.take(listener);
    t.after(release);
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { mock } = t.mock.method(Socket.prototype, 'setNoDelay');
    const client = connect((listener.address() as { port: number }).port, '127.0.0.1');
    t.after(() => client.destroy());
    await until('it is told not to wait', () => mock.callCount() > 0);
    assert.deepEqual(
      mock.calls.map((call) => call.arguments),
      [[true]],
    );
  });

  it('closes all connections, busy ones as well, of all listeners', async (t) => {
    let asked = 0;
    const { bridge, port } = await listen(t, { handlers: { hang: () => void asked++ } });
    const listener = createServer();
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    bridge.take(listener);
    const text = `GET /hang HTTP/1.1\r\nHost: a\r\nx-api-key: ${bridge.token}\r\n\r\n`;
    const ports = [port, (listener.address() as { port: number }).port];
    const connections = ports.map((one) => connectRaw(t, one, text));
    await until('both are served', () => asked === 2);
    await bridge.close();
    await Promise.all(connections.map(({ closed }) => closed));
    assert.equal(listener.listening, false);
  });

  it('accepts no more connections than a run may have', async (t) => {
    const { port } = await listen(t);
    const connections = Array.from({ length: 260 }, () => connectRaw(t, port));
    let closed = 0;
    for (const connection of connections) void connection.closed.then(() => closed++);
    await until('four are closed', () => closed === 4);
    assert.equal(closed, 4);
  });
});

describe('the environment for the bridge', () => {
  it('puts the token into the URL of the proxy', () => {
    const env = bridgeEnvironment({ origin: 'http://127.0.0.1:3128', token: 'pr_a-b' });
    assert.equal(env['HTTPS_PROXY'], 'http://run:pr_a-b@127.0.0.1:3128');
    for (const name of ['HTTP_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'all_proxy'])
      assert.equal(env[name], env['HTTPS_PROXY'], name);
    assert.match(env['NO_PROXY'] ?? '', /127\.0\.0\.1/);
  });
});

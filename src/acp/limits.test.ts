// What a client may send at once, and what happens to the rest of it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { mib } from '../validation/schema.ts';

type Json = Record<string, unknown>;

interface Response {
  readonly id: unknown;
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Without a worker, conversations wait, and nothing answers a prompt. */
const apiOnly: RunsOptions = { env: { PARLEY_ROLE: 'api' } };

async function openSocket(t: TestContext, url: string, key: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, { headers: { 'X-Session-API-Key': key } });
  t.after(async () => socket.terminate());
  await once(socket, 'open');
  const responses: Response[] = [];
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (!('method' in message)) responses.push(message);
  });
  let next = 1_000_000;
  const send = (message: Json) => socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const request = async (method: string, params: Json): Promise<Response> => {
    const id = next++;
    send({ id, method, params });
    return until(`an answer to ${method}`, () => responses.find((one) => one.id === id), 30_000);
  };
  const newSession = async () => {
    const { result } = await request('session/new', { cwd: '/', mcpServers: [] });
    return String(result?.['sessionId']);
  };
  return { socket, responses, send, request, newSession };
}

type Socket = Awaited<ReturnType<typeof openSocket>>;

async function initialize({ request, responses }: Socket): Promise<void> {
  await request('initialize', { protocolVersion: 1 });
  responses.length = 0;
}

async function start(t: TestContext, options = apiOnly) {
  const runs = await startRuns(options, t);
  const { url, key } = runs.service;
  const open = (otherKey = key) => openSocket(t, url, otherKey);
  const connect = async (otherKey?: string) => {
    const socket = await open(otherKey);
    await initialize(socket);
    return socket;
  };
  return { ...runs, open, connect };
}

const text = (value: string) => [{ type: 'text', text: value }];
const errorsOf = (responses: readonly Response[]) => responses.flatMap(({ error }) => error ?? []);

describe('an ACP client that floods the service', () => {
  it('has a limited number of requests in progress, and all are answered', async (t) => {
    const { connect } = await start(t);
    const { send, responses, request } = await connect();
    const count = 2_000;
    for (let id = 0; id < count; id++) send({ id, method: 'session/list', params: {} });
    await until('all are answered', () => responses.length === count, 60_000);
    // How many are refused depends on how fast the others are answered: see guardedStream.test.ts.
    for (const { message } of errorsOf(responses)) assert.match(message, /^Too many requests/);
    assert.ok((await request('session/list', {})).result);
  });

  it('has a limited number of prompts in a session', async (t) => {
    const { connect } = await start(t);
    const { send, responses, newSession } = await connect();
    const sessionId = await newSession();
    responses.length = 0;
    for (let id = 0; id < 100; id++)
      send({ id, method: 'session/prompt', params: { sessionId, prompt: text('x') } });
    await until('the others are refused', () => responses.length === 84);
    assert.ok(errorsOf(responses).every(({ message }) => /too many prompts/.test(message)));
    const other = await connect();
    assert.ok((await other.request('session/load', { sessionId, cwd: '/', mcpServers: [] })).result);
  });

  it('has a limited number of sessions, and creates no conversations beyond it', async (t) => {
    const { connect, service } = await start(t);
    const { send, responses } = await connect();
    for (let id = 0; id < 150; id++)
      send({ id, method: 'session/new', params: { cwd: '/', mcpServers: [] } });
    await until('all are answered', () => responses.length === 150, 60_000);
    const errors = errorsOf(responses);
    assert.equal(errors.length, 50, errors[0]?.message ?? '');
    assert.match(errors[0]?.message ?? '', /too many sessions are open/);
    const { body } = await service.ask('/api/conversations?limit=100');
    assert.deepEqual([body.results.length, body.next_page_id], [100, null]);
  });

  it('sends messages of a limited size, alone and together', async (t) => {
    const { connect } = await start(t);
    const { send, socket, responses, newSession, request } = await connect();
    const sessionId = await newSession();
    responses.length = 0;
    const long = text('x'.repeat(15 * mib));
    for (let id = 0; id < 6; id++)
      send({ id, method: 'session/prompt', params: { sessionId, prompt: long } });
    await until('all are answered', () => responses.length === 6, 60_000);
    assert.equal(errorsOf(responses).length, 6);
    assert.ok((await request('session/list', {})).result);
    send({ id: 7, method: 'session/prompt', params: { prompt: text('x'.repeat(16 * mib)) } });
    const [code] = await once(socket, 'close');
    assert.equal(code, 1_009);
    assert.ok((await (await connect()).request('session/list', {})).result);
  });

  it('may send thousands of cancellations at once', async (t) => {
    const { connect } = await start(t, {});
    const { send, newSession, request } = await connect();
    const sessionId = await newSession();
    for (let i = 0; i < 3_000; i++) send({ method: 'session/cancel', params: { sessionId } });
    const { result } = await request('session/list', {});
    assert.ok(result);
  });
});

describe('an ACP client that does not keep to the protocol', () => {
  it('is answered under ids of all kinds, once', async (t) => {
    const { connect } = await start(t);
    const { send, responses } = await connect();
    const ids = [0, -1, 1.5, 1e308, '', 'x', '1', 1, null, '__proto__', 'x'.repeat(1_000)];
    for (const id of ids) send({ id, method: 'session/list', params: {} });
    await until('all are answered', () => responses.length === ids.length);
    assert.deepEqual(new Set(responses.map(({ id }) => id)), new Set(ids));
    assert.deepEqual(errorsOf(responses), []);
    for (const id of [true, {}, []]) send({ id, method: 'session/list', params: {} });
    await until('the others are refused', () => responses.length === ids.length + 3);
    assert.ok(responses.slice(-3).every(({ id, error }) => id === null && error?.code === -32_600));
  });

  it('gets no response to responses and notifications that are not expected, and they are not logged', async (t) => {
    const { connect } = await start(t);
    const { send, responses, request } = await connect();
    const logged = t.mock.method(console, 'error', () => {});
    for (let id = 0; id < 100; id++) send({ id, result: { outcome: { outcome: 'cancelled' } } });
    send({ id: {}, error: { code: 1, message: 'x' } });
    send({ result: {} });
    send({ method: 'session/cancel', params: { sessionId: 7 } });
    send({ method: 'session/cancel' });
    send({ method: 'session/cancel', params: { sessionId: 'nothing' } });
    send({ method: 'nothing' });
    const { error } = await request('nothing', {});
    assert.equal(error?.code, -32_601);
    assert.deepEqual([responses.length, logged.mock.callCount()], [1, 0]);
  });

  it('must send initialize first, and may repeat it', async (t) => {
    const { open } = await start(t);
    const { request } = await open();
    assert.match((await request('session/list', {})).error?.message ?? '', /must be initialized/);
    for (const protocolVersion of [1, 1, 99]) {
      const { result } = await request('initialize', { protocolVersion });
      assert.equal(result?.['protocolVersion'], 1);
    }
    assert.equal((await request('initialize', { protocolVersion: 'x' })).error?.code, -32_602);
    assert.ok((await request('session/list', {})).result);
  });

  it('cannot find sessions of other users, -32002', async (t) => {
    const { connect, create, service } = await start(t);
    const sessionId = await create();
    const { body } = await service.ask('/api/keys', { json: { name: 'second', user: 'ada' } });
    const { request } = await connect(body.key);
    for (const method of ['session/load', 'session/resume'])
      assert.equal((await request(method, { sessionId, cwd: '/', mcpServers: [] })).error?.code, -32_002);
    for (const method of ['session/close', 'session/prompt', 'session/set_config_option']) {
      const params = { sessionId, prompt: text('x'), configId: 'agent', value: 'fake' };
      assert.equal((await request(method, params)).error?.code, -32_002, method);
    }
    assert.deepEqual((await request('session/list', {})).result?.['sessions'], []);
    const { status } = await service.ask(`/api/conversations/${sessionId}`);
    assert.equal(status, 200);
  });
});

// ACP over WebSocket: the same sessions, for clients with a key.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { connectAcp } from '../../test/support/acpClient.ts';
import { type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { createParley, type Scope } from '../client/parley.ts';
import { socketStream } from './socketStream.ts';

async function start(t: TestContext, options: RunsOptions = {}) {
  const runs = await startRuns(options, t);
  const { url, key } = runs.service;
  const open = (headers: Record<string, string> = { 'X-Session-API-Key': key }) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/acp`, { headers });
    t.after(async () => socket.terminate());
    return socket;
  };
  const connect = async (headers?: Record<string, string>) => {
    const socket = open(headers);
    await once(socket, 'open');
    return { socket, client: await connectAcp(socketStream(socket)) };
  };
  return { ...runs, parley: createParley({ url, key }), open, connect };
}

/** The status of the answer to an upgrade that is refused. */
async function refusal(socket: WebSocket): Promise<number | undefined> {
  socket.on('error', () => {});
  const [, response] = await once(socket, 'unexpected-response');
  return response.statusCode;
}

describe('ACP over WebSocket', () => {
  it('has sessions that outlive their connection', async (t) => {
    const { connect } = await start(t);
    const first = await connect();
    const id = await first.client.newSession();
    assert.equal(await first.client.prompt(id, 'say Hello'), 'end_turn');
    first.socket.close();
    const { client } = await connect();
    await client.context.request('session/load', { sessionId: id, cwd: '/', mcpServers: [] });
    assert.equal(client.text(id), 'Hello');
    assert.equal(await client.prompt(id, 'say Again'), 'end_turn');
    assert.equal(client.text(id), 'HelloAgain');
  });

  it('returns the id of the connection', async (t) => {
    const { open } = await start(t);
    const [response] = await once(open(), 'upgrade');
    assert.match(response.headers['acp-connection-id'], /^[\w-]{36}$/);
  });

  it('refuses callers without a valid key, other origins, and requests that are not upgrades', async (t) => {
    const { open, service } = await start(t);
    assert.equal(await refusal(open({})), 401);
    assert.equal(await refusal(open({ 'X-Session-API-Key': 'wrong' })), 401);
    const headers = { 'X-Session-API-Key': service.key };
    assert.equal(await refusal(open({ ...headers, Origin: 'https://evil.example' })), 403);
    assert.equal(await refusal(open({ ...headers, Host: 'evil.example' })), 403);
    const { status } = await fetch(`${service.url}/acp`, { headers });
    assert.equal(status, 422);
  });

  it('lets a key do only what its scopes allow, and closes when it is revoked', async (t) => {
    const { connect, parley, create, turns } = await start(t);
    const scopes: Scope[] = ['conversations:read', 'settings:read'];
    const { key, id: keyId } = await parley.keys.create({ name: 'reader', scopes });
    const id = await create('say Hello');
    await turns(id, 1);
    const { client, socket } = await connect({ 'X-Session-API-Key': key });
    await client.context.request('session/load', { sessionId: id, cwd: '/', mcpServers: [] });
    assert.equal(client.text(id), 'Hello');
    await assert.rejects(client.prompt(id, 'say No'), /scope conversations:write/);
    await parley.keys.revoke(keyId);
    await until('it is closed', () => socket.readyState === WebSocket.CLOSED);
  });

  it('answers invalid messages with an error, and goes on', async (t) => {
    const { open, service } = await start(t);
    const socket = open();
    await once(socket, 'open');
    const answers: string[] = [];
    socket.on('message', (data) => answers.push(String(data)));
    for (const text of ['{', '[]', '1', '"x"', `${'['.repeat(100_000)}`]) socket.send(text);
    await until('all are answered', () => answers.length === 5);
    assert.ok(answers.every((text) => JSON.parse(text).error.code <= -32_600));
    socket.send('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}');
    await until('it is answered', () => answers.some((text) => text.includes('"agentInfo"')));
    socket.send(Buffer.from([1, 2, 3]));
    const [code] = await once(socket, 'close');
    assert.equal(code, 1_003);
    assert.ok(service.url);
  });
});

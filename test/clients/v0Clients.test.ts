// Known clients of the V0 API: their calls, in their order, with nothing changed but the URL and the key.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { io } from 'socket.io-client';
import { defaultTimes } from '../../src/conversations/sweep/service.ts';
import { type Runs, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const python = '/usr/bin/python3';
const hasSocketio = spawnSync(python, ['-c', 'import socketio, websocket, requests']).status === 0;
const pythonMissing = hasSocketio
  ? false
  : 'python-socketio is not installed (python3-socketio, python3-websocket)';

/** A service with the fake agent, on which finished conversations stop soon. */
const start = (t: TestContext) =>
  startRuns({ times: { sweep: { ...defaultTimes, unattendedMs: 1_000 } } }, t);

async function keyFor({ service }: Runs, options: Record<string, unknown>): Promise<string> {
  return (await service.ask('/api/keys', { json: { name: 'client', ...options } })).body.key;
}

/** A script that sends its key as Bearer on every route. */
async function bearerScript(runs: Runs) {
  const token = await keyFor(runs, { bearer: true });
  return async (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
    const response = await fetch(`${runs.service.url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.equal(response.status, 200, `${method} ${path}`);
    return JSON.parse(await response.text());
  };
}

describe('scripts', () => {
  it('create a conversation with Bearer, poll until STOPPED, and read its log', async (t) => {
    const ask = await bearerScript(await start(t));
    const { conversation_id: id } = await ask('/conversations', { initial_user_msg: 'say done' });
    await until('it stops', async () => (await ask(`/conversations/${id}`)).status === 'STOPPED');
    const { trajectory } = await ask(`/conversations/${id}/trajectory`);
    assert.ok(trajectory.some((event: { args?: { content?: string } }) => event.args?.content === 'done'));
    const { events, has_more: more } = await ask(`/conversations/${id}/events?limit=100&reverse=true`);
    assert.deepEqual([events.length, more], [trajectory.length, false]);
    assert.equal(await ask(`/conversations/${id}`, { title: 'Renamed' }, 'PATCH'), true);
    assert.equal((await ask('/conversations?limit=1000')).results[0].title, 'Renamed');
    assert.equal(await ask(`/conversations/${id}`, undefined, 'DELETE'), true);
    assert.equal(await ask(`/conversations/${id}`), null);
  });

  it('poll the trajectory until the agent waits for input, as a plugin of llm does', async (t) => {
    const ask = await bearerScript(await start(t));
    const { conversation_id: id } = await ask('/conversations', {
      initial_user_msg: 'say hi',
      repository: null,
    });
    const answer = await until('the answer', async () => {
      const { trajectory } = await ask(`/conversations/${id}/trajectory`);
      const isDone = trajectory.some(
        (event: { extras?: { agent_state?: string } }) => event.extras?.agent_state === 'awaiting_user_input',
      );
      return (
        isDone &&
        trajectory.findLast(
          (event: { source: string; action?: string }) =>
            event.action === 'message' && event.source === 'agent',
        )
      );
    });
    assert.equal(answer.args.content, 'hi');
  });

  it('list, resume and read a conversation through its own URL and key, as ohc does', async (t) => {
    const runs = await start(t);
    const key = await keyFor(runs, {});
    const id = await runs.create('say one');
    await runs.turns(id, 1);
    await runs.stop(id);
    const ask = async (url: string, sessionKey: string, init: RequestInit = {}) => {
      const response = await fetch(url, {
        ...init,
        headers: { 'x-session-api-key': sessionKey, 'content-type': 'application/json' },
      });
      assert.equal(response.status, 200, url);
      return JSON.parse(await response.text());
    };
    const base = `${runs.service.url}/api/conversations`;
    for (const limit of [1, 100, 1_000])
      assert.equal((await ask(`${base}?limit=${limit}`, key)).results[0].conversation_id, id);
    await ask(`${base}/${id}/start`, key, { method: 'POST', body: '{"providers_set":["github"]}' });
    await runs.reaches(id, 'RUNNING');
    const info = await ask(`${base}/${id}`, key);
    assert.equal(info.runtime_status, 'STATUS$READY');
    const { trajectory } = await ask(`${info.url}/trajectory`, info.session_api_key);
    assert.ok(trajectory.length > 3);
    assert.ok(Array.isArray(await ask(`${info.url}/list-files`, info.session_api_key)));
  });
});

describe('the web UI', () => {
  it('opens two sockets, waits for the state, sends a message and sees each tool once', async (t) => {
    const runs = await start(t);
    const id = await runs.create('say one');
    await runs.turns(id, 1);
    // biome-ignore lint/suspicious/noExplicitAny: events have many shapes
    const received: any[] = [];
    const query = {
      conversation_id: id,
      latest_event_id: '-1',
      session_api_key: runs.service.key,
      providers_set: 'github',
    };
    const sockets = [1, 2].map(() =>
      io(runs.service.url, { transports: ['websocket'], forceNew: true, query }),
    );
    t.after(async () => {
      for (const socket of sockets) socket.disconnect();
    });
    const [socket] = sockets;
    socket?.on('oh_event', (event) => received.push(event));
    await until('the input opens', () => received.at(-1)?.extras?.agent_state === 'awaiting_user_input');
    socket?.emit('oh_user_action', {
      action: 'message',
      args: { content: 'edit a.txt new', image_urls: [], file_urls: [], timestamp: new Date().toISOString() },
    });
    await until('the turn', () => {
      const states = received.filter(({ observation }) => observation === 'agent_state_changed');
      return states.length > 2 && states.at(-1).extras.agent_state === 'awaiting_user_input';
    });
    const action = received.find((event) => event.action === 'edit');
    const observation = received.find((event) => event.observation === 'edit');
    assert.equal(observation.cause, action.id);
    assert.equal(typeof observation.extras.diff, 'string');
    const known = new Set(['message', 'edit', 'agent_state_changed', 'think', 'change_agent_state']);
    const types = received.filter((e) => !e.status_update).map((e) => e.action ?? e.observation);
    assert.deepEqual(
      types.filter((type) => !known.has(type)),
      [],
    );
    const { num_connections: connections } = (await runs.service.ask(`/api/conversations/${id}`)).body;
    assert.equal(connections, 2);
  });
});

describe('python-socketio', { skip: pythonMissing }, () => {
  for (const transport of ['websocket', 'polling'])
    it(`talks to the agent over ${transport}`, async (t) => {
      const runs = await start(t);
      const id = await runs.create('say one');
      await runs.turns(id, 1);
      const script = new URL('socketClient.py', import.meta.url).pathname;
      const args = [script, runs.service.url, id, runs.service.key, transport, 'say two'];
      const { stdout } = await run(python, args, { timeout: 240_000 });
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const said = events.filter(({ source, action }) => source === 'agent' && action === 'message');
      assert.deepEqual(
        said.map(({ args: { content } }) => content),
        ['one', 'two'],
      );
    });
});

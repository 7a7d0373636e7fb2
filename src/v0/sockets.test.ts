import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { io, type ManagerOptions, type Socket } from 'socket.io-client';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { startRuns } from '../../test/support/runs.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: events have many shapes
type Received = any;

interface Client {
  readonly socket: Socket;
  readonly received: Received[];
}

type Query = Record<string, string>;

function open(
  t: TestContext,
  service: TestService,
  query: Query,
  options: Partial<ManagerOptions> = {},
): Client {
  const socket = io(service.url, {
    transports: ['websocket'],
    reconnection: false,
    forceNew: true,
    query: { latest_event_id: '-1', session_api_key: service.key, providers_set: '', ...query },
    ...options,
  });
  const received: Received[] = [];
  socket.on('oh_event', (event) => received.push(event));
  t.after(async () => void socket.disconnect());
  return { socket, received };
}

async function connected(client: Client): Promise<Client> {
  if (!client.socket.connected)
    await new Promise((resolve) => client.socket.once('connect', () => resolve(0)));
  return client;
}

async function refusal({ socket }: Client): Promise<string> {
  return new Promise((resolve) => socket.once('connect_error', ({ message }) => resolve(message)));
}

async function create(service: TestService, message = 'hello'): Promise<string> {
  const { body } = await service.ask('/api/conversations', { json: { initial_user_msg: message } });
  return body.conversation_id;
}

const say = (content: string) => ({
  action: 'message',
  args: { content, image_urls: [], file_urls: [], timestamp: '2026-01-31T12:00:00Z' },
});

const contents = (received: readonly Received[]) =>
  received.filter(({ action }) => action === 'message').map(({ args }) => args.content);

for (const kind of databaseKinds) {
  describe(`a socket on ${kind}`, () => {
    it('runs commands of the user while the conversation runs, and reports an error otherwise', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('say hello');
      await runs.turns(id, 1);
      const { socket, received } = await connected(open(t, runs.service, { conversation_id: id }));
      socket.emit('oh_user_action', {
        action: 'run',
        args: { command: 'echo from the terminal', hidden: false },
      });
      const result = await until('the output', () =>
        received.find(({ observation, source }) => observation === 'run' && source === 'user'),
      );
      assert.equal(result.content, 'from the terminal\n');
      assert.equal(received.find(({ id: event }) => event === result.cause)?.action, 'run');
      await runs.stop(id);
      socket.emit('oh_user_action', { action: 'run', args: { command: 'true' } });
      const { message } = await until('the error', () => received.find(({ error }) => error === true));
      assert.match(message, /not running/);
    });

    it('gets the events that it does not have, the newest state last, then new ones', async (t) => {
      const service = await startService({ kind }, t);
      const id = await create(service);
      await service.ask(`/api/conversations/${id}/stop`, { method: 'POST' });
      const { received } = await connected(open(t, service, { conversation_id: id }));
      await until('the replay', () => received.at(-1)?.extras?.agent_state === 'stopped');
      assert.deepEqual(contents(received), ['hello']);
      assert.equal(received.filter(({ observation }) => observation === 'agent_state_changed').length, 1);
      await service.ask(`/api/conversations/${id}/message`, { json: { message: 'again' } });
      await until('the message', () => contents(received).includes('again'));
      const { events } = (await service.ask(`/api/conversations/${id}/events`)).body;
      const last = events.findLast((event: Received) => event.action === 'message').id;
      const later = await connected(open(t, service, { conversation_id: id, latest_event_id: String(last) }));
      await service.ask(`/api/conversations/${id}/message`, { json: { message: 'third' } });
      await until('the third', () => contents(later.received).includes('third'));
      assert.deepEqual(contents(later.received), ['third']);
    });

    it('sends messages and changes of state, in order, and gets failures as events', async (t) => {
      const service = await startService({ kind }, t);
      const id = await create(service);
      const { socket, received } = await connected(open(t, service, { conversation_id: id }));
      for (let n = 0; n < 10; n++) socket.emit(n % 2 === 0 ? 'oh_user_action' : 'oh_action', say(`m${n}`));
      await until('all messages', () => contents(received).length === 11);
      assert.deepEqual(
        contents(received).slice(1),
        Array.from({ length: 10 }, (_, n) => `m${n}`),
      );
      socket.emit('oh_user_action', { action: 'change_agent_state', args: { agent_state: 'paused' } });
      await until('the pause', () => received.some(({ extras }) => extras?.agent_state === 'paused'));
      for (const bad of [
        { action: 'message', args: { content: '' } },
        { action: 'fly', args: {} },
        { action: 'change_agent_state', args: { agent_state: 'user_confirmed' } },
        null,
        'text',
        { action: 'message', args: { content: '\u0000' } },
      ]) {
        const before = received.filter(({ error }) => error).length;
        socket.emit('oh_user_action', bad);
        await until('the failure', () => received.filter(({ error }) => error).length > before);
      }
      assert.ok(socket.connected);
      assert.ok(received.filter(({ error }) => error).every(({ message }) => typeof message === 'string'));
    });

    it('is counted, and gets the title when it changes', async (t) => {
      const service = await startService({ kind }, t);
      const id = await create(service);
      const clients = [1, 2].map(() => open(t, service, { conversation_id: id }));
      for (const client of clients) await connected(client);
      const count = async () => (await service.ask(`/api/conversations/${id}`)).body.num_connections;
      await until('both are counted', async () => (await count()) === 2);
      await service.ask(`/api/conversations/${id}`, { method: 'PATCH', json: { title: 'New title' } });
      const [first, second] = clients as [Client, Client];
      await until('the title', () =>
        first.received.some(
          ({ status_update: update, message, conversation_title: title }) =>
            update === true && message === id && title === 'New title',
        ),
      );
      second.socket.disconnect();
      await until('one is left', async () => (await count()) === 1);
    });

    it('is closed when its key is revoked or the conversation is deleted', async (t) => {
      const service = await startService({ kind }, t);
      const [id, other] = [await create(service), await create(service)];
      const { body: key } = await service.ask('/api/keys', { json: { name: 'ui' } });
      const revoked = await connected(open(t, service, { conversation_id: id, session_api_key: key.key }));
      const info = (await service.ask(`/api/conversations/${id}`, { key: key.key })).body;
      const limited = await connected(
        open(t, service, { conversation_id: id, session_api_key: info.session_api_key }),
      );
      const deleted = await connected(open(t, service, { conversation_id: other }));
      await service.ask(`/api/keys/${key.id}`, { method: 'DELETE' });
      await until('revoked', () => revoked.socket.disconnected && limited.socket.disconnected);
      await service.ask(`/api/conversations/${other}`, { method: 'DELETE' });
      await until('deleted', () => deleted.socket.disconnected);
    });
  });
}

describe('a socket', () => {
  it('is refused with a message that says why', async (t) => {
    const service = await startService({}, t);
    const [id, other] = [await create(service), await create(service)];
    const { body: reader } = await service.ask('/api/keys', {
      json: { name: 's', scopes: ['settings:read'] },
    });
    const { body: stranger } = await service.ask('/api/keys', { json: { name: 'x', user: 'stranger' } });
    const { session_api_key: limited } = (await service.ask(`/api/conversations/${id}`)).body;
    const invalidKey = 'invalid_session_api_key';
    const missing = 'This conversation does not exist.';
    const cases: [Query, string][] = [
      [{ conversation_id: '' }, 'No conversation_id in query params'],
      [{ conversation_id: 'undefined' }, 'No conversation_id in query params'],
      [{ conversation_id: id, session_api_key: 'null' }, invalidKey],
      [{ conversation_id: id, session_api_key: 'wrong-key' }, invalidKey],
      [{ conversation_id: id, session_api_key: reader.key }, invalidKey],
      [{ conversation_id: id, session_api_key: stranger.key }, missing],
      [{ conversation_id: other, session_api_key: limited }, invalidKey],
      [{ conversation_id: 'none' }, missing],
      [{ conversation_id: '../../etc' }, missing],
    ];
    for (const [query, message] of cases)
      assert.equal(await refusal(open(t, service, query)), message, JSON.stringify(query));
    assert.doesNotMatch(service.logs(), /wrong-key|pc_[0-9a-f]{16}_/);
  });

  it('may send its key as a header, begin with polling, and send garbage as latest_event_id', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const byHeader = open(
      t,
      service,
      { conversation_id: id, session_api_key: 'null', latest_event_id: 'garbage' },
      { extraHeaders: { 'X-Session-API-Key': service.key } },
    );
    const polling = open(t, service, { conversation_id: id }, { transports: ['polling'] });
    const upgraded = open(t, service, { conversation_id: id }, { transports: ['polling', 'websocket'] });
    for (const client of [byHeader, polling, upgraded]) {
      await connected(client);
      await until('the replay', () => contents(client.received).includes('hello'));
      client.socket.emit('oh_user_action', say('from here'));
    }
    await until('all see all', () =>
      [byHeader, polling, upgraded].every(({ received }) => contents(received).length === 4),
    );
  });

  it('with a key that may only read gets events, and a failure for actions', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const { body } = await service.ask('/api/keys', { json: { name: 'r', scopes: ['conversations:read'] } });
    const { socket, received } = await connected(
      open(t, service, { conversation_id: id, session_api_key: body.key }),
    );
    socket.emit('oh_user_action', say('no'));
    await until('the failure', () => received.some(({ error }) => error === true));
    assert.equal((await service.ask(`/api/conversations/${id}/events`)).text.includes('"no"'), false);
  });

  it('from another web page or for another host is refused with 403, other upgrades are ignored', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const path = `/socket.io/?EIO=4&transport=websocket&conversation_id=${id}&session_api_key=${service.key}`;
    const ask = async (url: string, headers: string): Promise<string> => {
      const { port, hostname } = new URL(service.url);
      const socket = connectTcp(Number(port), hostname);
      socket.write(
        `GET ${url} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`,
      );
      const [data] = await once(socket, 'data');
      socket.destroy();
      return String(data).split('\r\n')[0] ?? '';
    };
    const host = `Host: ${new URL(service.url).host}\r\n`;
    assert.match(await ask(path, host), /^HTTP\/1\.1 101 /);
    assert.match(await ask(path, `${host}Origin: https://evil.example\r\n`), /^HTTP\/1\.1 403 /);
    assert.match(await ask(path, 'Host: evil.example\r\n'), /^HTTP\/1\.1 403 /);
    assert.match(await ask('/alive', host), /^HTTP\/1\.1 200 /);
  });

  it('that floods the server with actions is disconnected, and others are served', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const calm = await connected(open(t, service, { conversation_id: id }));
    const { socket } = await connected(open(t, service, { conversation_id: id }));
    for (let n = 0; n < 5_000; n++) socket.emit('oh_user_action', say(`flood ${n}`));
    await until('it is disconnected', () => socket.disconnected);
    calm.socket.emit('oh_user_action', say('calm'));
    await until('the calm one is served', () => contents(calm.received).includes('calm'));
    const [row] = await inspect(service.storage, `select next_event from conversations where id = '${id}'`);
    assert.ok(Number(row?.['next_event']) < 1_000, String(row?.['next_event']));
  });

  it('that sends a message larger than 16 MiB is closed', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const { socket } = await connected(open(t, service, { conversation_id: id }));
    socket.emit('oh_user_action', say('x'.repeat(17 * 1024 * 1024)));
    await until('it is closed', () => socket.disconnected);
    assert.equal((await service.ask('/alive')).status, 200);
  });

  it('is not there with PARLEY_V0=0', async (t) => {
    const service = await startService({ env: { PARLEY_V0: '0' } }, t);
    assert.equal((await service.ask('/socket.io/?EIO=4&transport=polling')).status, 404);
    assert.equal((await service.ask('/api/user/info')).status, 404);
  });
});

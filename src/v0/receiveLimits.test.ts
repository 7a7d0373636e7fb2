import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { mib } from '../validation/schema.ts';

async function create(service: TestService): Promise<string> {
  const { body } = await service.ask('/api/conversations', { json: { initial_user_msg: 'hello' } });
  return body.conversation_id;
}

const connections = async (service: TestService, id: string): Promise<number> =>
  (await service.ask(`/api/conversations/${id}`)).body.num_connections;

/** A masked WebSocket frame. `length` is what it announces. */
function frame(payload: string | Buffer, length = Buffer.byteLength(payload), opcode = 1): Buffer {
  const head = Buffer.alloc(14);
  head.writeUInt8(0x80 | opcode, 0);
  head.writeUInt8(0x80 | 127, 1);
  head.writeBigUInt64BE(BigInt(length), 2);
  const short = Buffer.from([0x80 | opcode, 0x80 | length, 0, 0, 0, 0]);
  return Buffer.concat([length < 126 ? short : head, Buffer.from(payload)]);
}

/** A WebSocket that sends whatever bytes it is given. */
async function openRaw(t: TestContext, service: TestService, query: string) {
  const { port, hostname, host } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  t.after(async () => void socket.destroy());
  // Connections that the service resets are what these tests expect.
  socket.on('error', () => {});
  socket.write(
    `GET /socket.io/?EIO=4&transport=websocket&${query} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.resume();
  return socket;
}

describe('a socket', () => {
  it('cannot make the service hold or handle much before its key is accepted', async (t) => {
    const service = await startService({}, t);
    const refusals = {
      'a large message': [frame(Buffer.alloc(20_000))],
      'a message that never ends': [frame('', 15 * mib), Buffer.alloc(20_000)],
      'many handshakes': Array.from({ length: 3_000 }, () => frame('40/other,')),
      'many pings': Array.from({ length: 3_000 }, () => frame('', 0, 9)),
    };
    for (const [name, sent] of Object.entries(refusals)) {
      const socket = await openRaw(t, service, 'conversation_id=x&session_api_key=wrong');
      socket.write(Buffer.concat(sent));
      await until(name, () => socket.destroyed);
    }
    const path = '/socket.io/?EIO=4&transport=polling';
    const [, sid] = /"sid":"([^"]+)"/.exec((await service.ask(path)).text) ?? [];
    const posted = await fetch(`${service.url}${path}&sid=${sid}`, {
      method: 'POST',
      body: 'x'.repeat(20_000),
    });
    assert.equal(posted.status, 413);
    const body = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(Buffer.from('x'));
        controller.close();
      },
    });
    const chunked = await fetch(`${service.url}${path}&sid=${sid}`, { method: 'POST', body, duplex: 'half' });
    assert.equal(chunked.status, 400);
  });

  it('is closed if it sends binary data, or more values than a body may hold', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const query = `conversation_id=${id}&session_api_key=${service.key}`;
    for (const sent of [
      frame(`42["x",[${'{},'.repeat(30_000)}{}]]`),
      frame(`42["x",${'['.repeat(40_000)}${']'.repeat(40_000)}]`),
      frame('451-["x",{"_placeholder":true,"num":0}]'),
      frame(Buffer.from('abc'), 3, 2),
    ]) {
      const socket = await openRaw(t, service, query);
      socket.write(frame('40'));
      await until('it has a session', async () => (await connections(service, id)) === 1);
      socket.write(sent);
      await until('its session ends', async () => (await connections(service, id)) === 0);
    }
  });

  it('opens one session, however often it asks before it is answered', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const query = `conversation_id=${id}&session_api_key=${service.key}`;
    const socket = await openRaw(t, service, query);
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.write(Buffer.concat(Array.from({ length: 50 }, () => frame('40'))));
    await until('it is answered', () => text.includes('only one session') && text.includes('40{"sid"'));
    const { body } = await service.ask(`/api/conversations/${id}`);
    assert.equal(body.num_connections, 1);
  });

  it('is closed when it leaves, sends too many packets, or goes on after it was disconnected', async (t) => {
    const service = await startService({}, t);
    const id = await create(service);
    const query = `conversation_id=${id}&session_api_key=${service.key}`;
    for (const sent of [frame('41'), Buffer.concat(Array.from({ length: 2_000 }, () => frame('42["x"]')))]) {
      const socket = await openRaw(t, service, query);
      socket.write(frame('40'));
      await until('it has a session', async () => (await connections(service, id)) === 1);
      socket.write(sent);
      await until('its session ends', async () => (await connections(service, id)) === 0);
      socket.write(frame('3'));
      await until('it is closed', () => socket.destroyed);
    }
  });
});

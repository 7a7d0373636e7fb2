import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { boundArrival, extendArrival } from './arrival.ts';

const second = 1_000;

/** A server whose requests are bounded, and a client that has sent half of a body. */
async function sendHalf(t: TestContext, extendMs?: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const faults: string[] = [];
  let arrived = false;
  const server = createServer((request) => {
    boundArrival(request, server);
    if (extendMs !== undefined) extendArrival(request, server, extendMs);
    request.resume();
    arrived = true;
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    faults.push(error.code ?? '');
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  t.after(() => {
    socket.destroy();
    server.close();
  });
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
  while (!arrived) await new Promise((resolve) => setImmediate(resolve));
  return { socket, faults };
}

describe('a body that does not arrive', () => {
  it('is given up after a minute', async (t) => {
    const { faults } = await sendHalf(t);
    t.mock.timers.tick(59 * second);
    assert.deepEqual(faults, []);
    t.mock.timers.tick(2 * second);
    assert.deepEqual(faults, ['ERR_HTTP_REQUEST_TIMEOUT']);
  });

  it('has as much time as its route gives it', async (t) => {
    const { faults } = await sendHalf(t, 300 * second);
    t.mock.timers.tick(299 * second);
    assert.deepEqual(faults, []);
    t.mock.timers.tick(2 * second);
    assert.deepEqual(faults, ['ERR_HTTP_REQUEST_TIMEOUT']);
  });

  it('is not given up once it is complete', async (t) => {
    const { socket, faults } = await sendHalf(t);
    socket.write('second');
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(120 * second);
    assert.deepEqual(faults, []);
  });
});

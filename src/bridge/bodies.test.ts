import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import { createBodies } from './bodies.ts';

const bytesMax = 100;
const heldBytesMax = 150;

/** A server that holds each body until it is let go, and answers with its length or why it was refused. */
async function setUp(t: TestContext) {
  const bodies = createBodies(heldBytesMax);
  const held: (() => void)[] = [];
  const { url } = await listenOnLoopback(t, async (request, response) => {
    const body = await bodies.read(request, response, bytesMax);
    if ('status' in body) return void response.writeHead(body.status).end(body.sentence);
    const end = () => void response.end(String(body.length));
    if (request.url === '/hold') held.push(end);
    else end();
  });
  const send = (length: number, path = '/', signal?: AbortSignal) =>
    fetch(url + path, { method: 'POST', body: 'x'.repeat(length), ...(signal && { signal }) });
  return { held, send };
}

describe('the bodies of a run', () => {
  it('are returned whole, and refused beyond their limit, 413', async (t) => {
    const { send } = await setUp(t);
    assert.equal(await (await send(bytesMax)).text(), String(bytesMax));
    assert.equal((await send(bytesMax + 1)).status, 413);
  });

  it('are refused while too much is buffered, 503, until a response is sent', async (t) => {
    const { held, send } = await setUp(t);
    const first = send(bytesMax, '/hold');
    await until('the first is held', () => held.length === 1);
    assert.equal((await send(bytesMax)).status, 503);
    held.pop()?.();
    assert.equal((await first).status, 200);
    await until('there is room again', async () => (await send(bytesMax)).status === 200);
  });

  it('no longer count when their sender has disconnected, and only once', async (t) => {
    const { held, send } = await setUp(t);
    for (let i = 0; i < 3; i++) {
      const controller = new AbortController();
      const gone = send(bytesMax, '/hold', controller.signal).catch(() => {});
      await until('it is held', () => held.length === 1);
      controller.abort();
      await gone;
      held.pop();
      await until('there is room again', async () => (await send(bytesMax)).status === 200);
    }
    const first = send(bytesMax, '/hold');
    await until('it is held', () => held.length === 1);
    assert.equal((await send(bytesMax)).status, 503);
    held.pop()?.();
    await first;
  });
});

// Requests to an API server that keeps watches open, and a stream to a pod that reads nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { WebSocketServer } from 'ws';
import { until } from '../../../test/support/until.ts';
import { type Api, callsMax, createApi, untilReady } from './api.ts';
import { attach, bufferedBytesMax } from './attach.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function startApiServer(t: TestContext, answer: Answer = () => {}) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  const api = createApi({ server: url, ca: undefined, token: () => 'a-token', namespace: undefined });
  t.after(() => {
    api.close();
    server.closeAllConnections();
    server.close();
  });
  return { server, api };
}

describe('the API of the cluster', () => {
  it('answers calls while more pods are watched than calls can be open', async (t) => {
    let watches = 0;
    const { api } = await startApiServer(t, (request, response) => {
      const isWatch = request.url?.includes('watch=true');
      if (isWatch) response.write('{"object":{}}\n');
      else response.end('{"answered":true}');
      watches += isWatch ? 1 : 0;
    });
    const open = Array.from({ length: 2 * callsMax }, () => api.watch({ path: '/pods' }));
    t.after(() => Promise.all(open.map((one) => one.return(undefined))));
    await Promise.all(open.map((one) => one.next()));
    assert.equal(watches, 2 * callsMax);
    assert.deepEqual(await api.call({ path: '/pod' }), { answered: true });
  });
});

describe('an API server that is away', () => {
  it('is waited for until it is ready, as long as somebody wants that', async (t) => {
    const answers: Answer[] = [
      ({ socket }) => socket.destroy(),
      (_, response) => response.writeHead(503).end('{}'),
      (_, response) => response.end('ok'),
    ];
    let asked = 0;
    const { api } = await startApiServer(t, (request, response) => {
      const answer = answers[asked];
      asked += 1;
      answer?.(request, response);
    });
    await untilReady(api, () => true);
    assert.equal(asked, 3);
    await untilReady(api, () => false);
    assert.equal(asked, 3);
  });

  it('counts as ready if it only refuses to say so', async (t) => {
    let asked = 0;
    const { api } = await startApiServer(t, (_, response) => {
      asked += 1;
      response.writeHead(403).end('{}');
    });
    await untilReady(api, () => true);
    assert.equal(asked, 1);
  });
});

describe('the stream to a pod', () => {
  const openStream = (api: Api, onClose: (why: string) => void) =>
    attach(api, { namespace: 'n', pod: 'p', container: 'c', onOutput: () => {}, onClose });

  it('is closed if the pod reads nothing, before too much of it is in memory', async (t) => {
    const { server, api } = await startApiServer(t);
    const sockets = new WebSocketServer({ server, handleProtocols: () => 'v4.channel.k8s.io' });
    sockets.on('connection', (socket) => socket.pause());
    const closed = Promise.withResolvers<string>();
    const stream = await openStream(api, closed.resolve);
    const piece = Buffer.alloc(64 * 1_024);
    let sent = 0;
    let why: string | undefined;
    void closed.promise.then((reason) => {
      why = reason;
    });
    // The kernel takes some of it.
    await until('it is closed', () => {
      for (let n = 0; n < 64 && why === undefined; n++, sent += piece.length) stream.send(piece);
      return why !== undefined;
    });
    assert.equal(why, 'It does not read what it is sent.');
    assert.ok(sent > bufferedBytesMax, String(sent));
  });

  it('is not closed if much is sent and read', async (t) => {
    const { server, api } = await startApiServer(t);
    const sockets = new WebSocketServer({ server, handleProtocols: () => 'v4.channel.k8s.io' });
    let read = 0;
    sockets.on('connection', (socket) =>
      socket.on('message', (data: Buffer) => {
        read += data.length - 1;
      }),
    );
    let isClosed = false;
    const stream = await openStream(api, () => {
      isClosed = true;
    });
    const bytes = bufferedBytesMax / 4;
    for (let n = 1; n <= 8; n++) {
      stream.send(Buffer.alloc(bytes));
      await until('it is read', () => isClosed || read === n * bytes);
    }
    assert.ok(!isClosed);
    stream.close();
  });
});

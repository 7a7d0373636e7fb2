import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { connectRaw } from '../../test/support/rawHttp.ts';
import { until } from '../../test/support/until.ts';
import { isThisMachine } from '../outgoing/addresses.ts';
import type { Lookup } from '../outgoing/resolve.ts';
import { createBridge } from './bridge.ts';
import { createEgress, type EgressOptions } from './egress.ts';

const toLoopback: Lookup = async () => [{ address: '127.0.0.1', family: 4 }];

/** Off limits is nothing here, unless a test says so: the only servers that tests have are on loopback. */
async function open(t: TestContext, options: Partial<EgressOptions> = {}) {
  const egress = createEgress({
    allowPrivate: () => true,
    lookup: toLoopback,
    isOffLimits: () => false,
    ...options,
  });
  const bridge = createBridge({ handlers: {}, egress });
  t.after(() => bridge.close());
  const port = await bridge.listen();
  const shown = `Proxy-Authorization: Basic ${Buffer.from(`run:${bridge.token}`).toString('base64')}`;
  const say = (line: string, more = '') =>
    connectRaw(t, port, `${line} HTTP/1.1\r\nHost: ignored\r\n${shown}\r\n${more}\r\n`);
  const answer = async (line: string, more?: string) => {
    const { received } = say(line, more);
    await until(`an answer to ${line}`, () => /\r\n\r\n.*\n/s.test(received()));
    return received();
  };
  return { bridge, say, answer };
}

const refusedAddresses = [
  '127.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '169.254.169.254',
  '[fe80::1]',
  '0.0.0.0',
];

describe('the egress', () => {
  it('tunnels bytes both ways, and the end of either side', async (t) => {
    const server = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const { say } = await open(t);
    const { socket, received, closed } = say(`CONNECT name.example:${port}`);
    await until('the tunnel', () => received() === 'HTTP/1.1 200 Connection Established\r\n\r\n');
    socket.end('there and back');
    await closed;
    assert.match(received(), /\r\n\r\nthere and back$/);
  });

  it('forwards a plain request without headers for the proxy', async (t) => {
    const server = await listenOnLoopback(t, (request, response) => {
      response.writeHead(201, { connection: 'close, x-hop', 'x-hop': '1', 'x-kept': 'yes' });
      request.pipe(response);
    });
    const { port } = new URL(server.url);
    const { answer } = await open(t);
    const text = await answer(
      `POST http://name.example:${port}/a?b=c`,
      'Connection: close, X-Private\r\nX-Private: 1\r\nProxy-Connection: keep-alive\r\nX-Own: yes\r\nContent-Length: 4\r\n\r\nbody',
    );
    assert.match(text, /^HTTP\/1\.1 201 /);
    assert.match(text, /x-kept: yes/i);
    assert.doesNotMatch(text, /x-hop: /i);
    assert.match(text, /body/);
    const [request] = server.requests;
    assert.equal(request?.url, '/a?b=c');
    assert.equal(request?.headers.host, `name.example:${port}`);
    assert.equal(request?.headers['x-own'], 'yes');
    for (const name of ['proxy-authorization', 'proxy-connection', 'x-private'])
      assert.equal(request?.headers[name], undefined, name);
  });

  it('forwards a chunked body as such, whatever the method', async (t) => {
    const server = await listenOnLoopback(t, (request, response) => request.pipe(response));
    const { port } = new URL(server.url);
    const { answer } = await open(t);
    const text = await answer(
      `DELETE http://name.example:${port}/`,
      'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n',
    );
    assert.match(text, /body/);
    assert.equal(server.requests.length, 1);
    assert.equal(server.requests[0]?.headers['transfer-encoding'], 'chunked');
  });

  for (const address of refusedAddresses)
    it(`never connects to ${address}, 403`, async (t) => {
      const { answer } = await open(t, { isOffLimits: isThisMachine });
      for (const line of [`CONNECT ${address}:443`, `GET http://${address}/?q=hunter2`]) {
        const text = await answer(line);
        assert.match(text, /^HTTP\/1\.1 403 /);
        assert.doesNotMatch(text, /hunter2/);
      }
    });

  it('never connects to a name of this machine, 403', async (t) => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    for (const { address, family } of own) {
      const lookup: Lookup = async () => [
        { address: '1.1.1.1', family: 4 },
        { address, family: family === 'IPv4' ? 4 : 6 },
      ];
      const { answer } = await open(t, { lookup, isOffLimits: isThisMachine });
      for (const line of ['CONNECT name.example:443', 'GET http://name.example/'])
        assert.match(await answer(line), /^HTTP\/1\.1 403 /, address);
    }
    assert.ok(own.length > 0);
  });

  it('connects to private addresses only if they are allowed, 403', async (t) => {
    const { answer } = await open(t, { allowPrivate: async () => false });
    for (const line of ['CONNECT 10.0.0.1:443', 'CONNECT name.example:443', 'GET http://192.168.1.1/']) {
      const text = await answer(line);
      assert.match(text, /^HTTP\/1\.1 403 /);
      assert.match(text, /Its address is private/);
    }
  });

  it('connects to private hosts of the operator, and never to this machine, 403', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('hello\n'));
    const port = Number(new URL(server.url).port);
    const allowPrivate = () => [{ range: '127.0.0.0/8', port }];
    const { answer } = await open(t, { allowPrivate });
    assert.match(await answer(`GET http://name.example:${port}/`), /^HTTP\/1\.1 200 .*hello/s);
    assert.match(await answer(`GET http://name.example:${port + 1}/`), /^HTTP\/1\.1 403 /);
    assert.match(await answer(`CONNECT 10.0.0.1:${port}`), /^HTTP\/1\.1 403 /);
    const { answer: answerInRuns } = await open(t, { allowPrivate, isOffLimits: isThisMachine });
    assert.match(await answerInRuns(`GET http://name.example:${port}/`), /^HTTP\/1\.1 403 /);
  });

  it('does not connect to mail servers, 403', async (t) => {
    const { answer } = await open(t);
    assert.match(await answer('CONNECT name.example:25'), /^HTTP\/1\.1 403 .*Its port, 25,/s);
  });

  it('rejects malformed requests, 400', async (t) => {
    const { answer } = await open(t);
    const lines = ['CONNECT name.example', 'CONNECT name.example:99999', 'CONNECT name.example:0'];
    for (const line of [...lines, 'GET ftp://name.example/', 'GET http://u:p@name.example/'])
      assert.match(await answer(line), /^HTTP\/1\.1 400 /, line);
  });

  for (const line of ['CONNECT slow.example:443', 'GET http://slow.example/'])
    it(`gives up on a server that cannot be reached in time, 504: ${line}`, async (t) => {
      const { answer } = await open(t, { lookup: () => new Promise(() => {}), connectMs: 50 });
      assert.match(await answer(line), /^HTTP\/1\.1 504 /);
    });

  it('reports an unknown name or a refused connection, 502', async (t) => {
    const unknown = await open(t, { lookup: async () => [] });
    assert.match(await unknown.answer('CONNECT name.example:443'), /502 .*Its host name cannot be resolved/s);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const { answer } = await open(t);
    assert.match(await answer(`CONNECT name.example:${port}`), /502 .*does not accept connections/s);
    assert.match(await answer(`GET http://name.example:${port}/`), /502 .*does not accept connections/s);
  });

  it('survives a rule that fails, 502, without its message', async (t) => {
    const { answer } = await open(t, { allowPrivate: () => Promise.reject(new Error('hunter2')) });
    const text = await answer('CONNECT name.example:443');
    assert.match(text, /^HTTP\/1\.1 502 /);
    assert.doesNotMatch(text, /hunter2/);
  });

  for (const status of ['000', '099', '101'])
    it(`survives a server that answers with the status ${status}, 502`, async (t) => {
      const server = createServer((socket) => {
        socket
          .on('error', () => {})
          .once('data', () => {
            socket.end(
              `HTTP/1.1 ${status} What\r\nConnection: upgrade\r\nUpgrade: x\r\nX-Other: hunter2\r\nContent-Length: 2\r\n\r\nhi`,
            );
          });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      t.after(() => server.close());
      const { port } = server.address() as { port: number };
      const { answer } = await open(t);
      const text = await answer(`GET http://name.example:${port}/`);
      assert.match(text, /^HTTP\/1\.1 502 .*Its answer cannot be passed on/s);
      assert.doesNotMatch(text, /hunter2/);
    });

  it('limits connections, 503, and releases them', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('hello\n'));
    const { port } = new URL(server.url);
    const { say, answer } = await open(t, { connectionsMax: 1 });
    const first = say(`CONNECT name.example:${port}`);
    await until('the tunnel', () => first.received() !== '');
    assert.match(await answer(`CONNECT name.example:${port}`), /^HTTP\/1\.1 503 /);
    assert.match(await answer(`GET http://name.example:${port}/`), /^HTTP\/1\.1 503 /);
    first.socket.destroy();
    await until('a place', async () =>
      (await answer(`GET http://name.example:${port}/`)).startsWith('HTTP/1.1 200 '),
    );
  });

  it('closes idle connections, and those that the bridge closes', async (t) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    let accepted = 0;
    let ended = 0;
    server.on('connection', (socket) => {
      accepted++;
      socket
        .on('error', () => {})
        .on('close', () => ended++)
        .resume();
    });
    const { port } = server.address() as { port: number };
    const idle = await open(t, { idleMs: 30 });
    await idle.say(`CONNECT name.example:${port}`).closed;
    await until('the other side is told', () => ended === 1);
    const { say, bridge } = await open(t);
    const { received, closed } = say(`CONNECT name.example:${port}`);
    await until('the tunnel', () => received() !== '' && accepted === 2);
    await bridge.close();
    await closed;
    await until('the other side is told', () => ended === 2);
  });
});

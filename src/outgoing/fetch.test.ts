import assert from 'node:assert/strict';
import { lookup as systemLookup } from 'node:dns/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { listenOnLoopback, pretenders } from '../../test/support/mcpServer.ts';
import { until } from '../../test/support/until.ts';
import { AppError } from '../errors.ts';
import { kib } from '../validation/schema.ts';
import { type OutgoingCode, OutgoingError } from './errors.ts';
import { createOutgoingFetch, type OutgoingOptions } from './fetch.ts';
import type { Lookup } from './resolve.ts';

type TestContext = Parameters<typeof listenOnLoopback>[0];

function create(options: Partial<OutgoingOptions> = {}) {
  return createOutgoingFetch({
    allowPrivate: () => true,
    timeoutMs: 60_000,
    responseBytesMax: 100 * kib,
    ...options,
  });
}

/** Answers a name with each list in turn, and with the last one for ever. */
function fakeDns(...answers: readonly (readonly string[])[]): Lookup & { asked: string[] } {
  const asked: string[] = [];
  const lookup = async (hostname: string) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return Object.assign(lookup, { asked });
}

const secrets = /hunter2|q=1|Bearer|127\.0\.0\.1/;

function rejectsWith(code: OutgoingCode, work: Promise<unknown>): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(error instanceof OutgoingError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, /^[A-Z].*\.$/);
    assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, secrets);
    assert.equal(error.cause, undefined);
    return true;
  });
}

const readAll = (response: Response) => response.text();

const hello: RequestListener = (_, response) => {
  response.end('hello');
};

const portOf = (url: string) => new URL(url).port;

describe('an outgoing request', () => {
  it('returns status, headers and body', async (t) => {
    const server = await listenOnLoopback(t, (request, response) => {
      response.writeHead(201, { 'x-method': request.method });
      request.pipe(response);
    });
    const response = await create()(`${server.url}/a?b`, { method: 'POST', body: 'sent' });
    assert.deepEqual(
      [response.status, response.headers.get('x-method'), await readAll(response)],
      [201, 'POST', 'sent'],
    );
    assert.equal(server.requests[0]?.url, '/a?b');
  });

  it('sends only the given headers, and keeps no connection', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => {
      response.setHeader('set-cookie', 'ambient=1').end('hello');
    });
    const fetch = create();
    await readAll(await fetch(server.url));
    await readAll(await fetch(server.url, { headers: { 'x-own': 'yes' } }));
    const [, second] = server.requests as IncomingMessage[];
    assert.equal(second?.headers['x-own'], 'yes');
    assert.equal(second?.headers.cookie, undefined);
    assert.equal(second?.headers.authorization, undefined);
    assert.equal(second?.headers.connection, 'close');
    await until('its connections end', async () => (await server.openConnections()) === 0);
  });

  it('closes the connection when the body is cancelled', async (t) => {
    const server = await listenOnLoopback(t, pretenders.stalling);
    const response = await create()(server.url);
    await response.body?.cancel();
    await until('its connection ends', async () => (await server.openConnections()) === 0);
  });
});

describe('the address of an outgoing request', () => {
  const literals = [
    '0x7f.1',
    '2130706433',
    '017700000001',
    '127.1',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '127。0。0。1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::1]',
    '[64:ff9b::127.0.0.1]',
  ];
  for (const literal of literals)
    it(`is refused when written as ${literal}, without a look-up`, async () => {
      const lookup = fakeDns(['1.1.1.1']);
      const fetch = create({ allowPrivate: () => false, lookup });
      await rejectsWith('address_not_allowed', fetch(`http://${literal}:9/?q=1`));
      assert.deepEqual(lookup.asked, []);
    });

  it('is refused for localhost, and allowed if private ones are', async (t) => {
    const server = await listenOnLoopback(t, hello);
    const url = `http://localhost:${portOf(server.url)}/`;
    const lookup: Lookup = (hostname) => systemLookup(hostname, { all: true });
    await rejectsWith('address_not_allowed', create({ allowPrivate: () => false, lookup })(url));
    assert.equal(server.requests.length, 0);
    assert.equal(await readAll(await create()(url)), 'hello');
  });

  it('is refused if it is link-local, even if private ones are allowed', async () => {
    await rejectsWith('address_not_allowed', create()('http://169.254.169.254/latest/meta-data'));
    const lookup = fakeDns(['169.254.169.254']);
    await rejectsWith('address_not_allowed', create({ lookup })('http://metadata.test/'));
  });

  it('is refused if only one of several is private', async (t) => {
    const server = await listenOnLoopback(t, hello);
    const lookup = fakeDns(['1.1.1.1', '127.0.0.1', '2606:4700::1']);
    const fetch = create({ allowPrivate: () => false, lookup });
    await rejectsWith('address_not_allowed', fetch(`http://mixed.test:${portOf(server.url)}/`));
    assert.equal(server.requests.length, 0);
  });

  it('is looked up once, so that a changing name gains nothing', async (t) => {
    const server = await listenOnLoopback(t, hello);
    const url = `http://rebinding.test:${portOf(server.url)}/`;
    const lookup = fakeDns(['127.0.0.1'], ['169.254.169.254']);
    const fetch = create({ lookup });
    assert.equal(await readAll(await fetch(url)), 'hello');
    assert.deepEqual(lookup.asked, ['rebinding.test']);
    assert.equal(server.requests[0]?.headers.host, `rebinding.test:${portOf(server.url)}`);
    await rejectsWith('address_not_allowed', fetch(url));
    assert.equal(server.requests.length, 1);
  });

  it('is checked by the current rule', async (t) => {
    const server = await listenOnLoopback(t, hello);
    let allowed = true;
    const fetch = create({ allowPrivate: async () => allowed });
    assert.equal(await readAll(await fetch(server.url)), 'hello');
    allowed = false;
    await rejectsWith('address_not_allowed', fetch(server.url));
  });

  it('is refused if the URL has another scheme or contains a password', async () => {
    for (const url of ['ftp://a.test/', 'file:///etc/passwd', 'data:,x', 'ws://a.test/', 'nonsense', ''])
      await rejectsWith('address_not_allowed', create()(url));
    await rejectsWith('address_not_allowed', create()('http://ada:hunter2@a.test/?q=1'));
  });

  it('is not reached if the rule fails', async () => {
    const allowPrivate = async (): Promise<boolean> => {
      throw new AppError('database_unavailable', 'The database does not answer.');
    };
    await assert.rejects(create({ allowPrivate })('http://127.0.0.1/'), AppError);
  });
});

describe('a failing outgoing request', () => {
  const send = (t: TestContext, handler: RequestListener, options: Partial<OutgoingOptions> = {}) =>
    listenOnLoopback(t, handler).then(async (server) =>
      readAll(await create(options)(`${server.url}/?q=1`, { headers: { authorization: 'Bearer hunter2' } })),
    );

  it('reports an unknown name', async () => {
    const lookup = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    await rejectsWith('name_not_found', create({ lookup })('http://nowhere.test/?q=1'));
    await rejectsWith('name_not_found', create({ lookup: fakeDns([]) })('http://empty.test/?q=1'));
  });

  it('reports a refused connection', async (t) => {
    let url = '';
    await t.test('a server that is gone', async (gone) => {
      url = (await listenOnLoopback(gone, hello)).url;
    });
    await rejectsWith('refused', create()(url));
  });

  for (const status of [300, 301, 302, 303, 304, 307, 308])
    it(`follows no redirect, ${status}`, async (t) => {
      const target = await listenOnLoopback(t, hello);
      const answer: RequestListener = (_, response) => {
        response.writeHead(status, { location: `${target.url}/?q=1` }).end();
      };
      await rejectsWith('redirect', send(t, answer));
      assert.equal(target.requests.length, 0);
    });

  it('reports that no response came in time', async (t) => {
    await rejectsWith('timeout', send(t, pretenders.hanging, { timeoutMs: 50 }));
  });

  it('reports that the response did not end in time', async (t) => {
    await rejectsWith('timeout', send(t, pretenders.stalling, { timeoutMs: 50 }));
  });

  it('reports a slow lookup', async () => {
    const lookup: Lookup = () => new Promise(() => {});
    await rejectsWith('timeout', create({ lookup, timeoutMs: 50 })('http://slow.test/?q=1'));
  });

  it('cuts off an endless response', async (t) => {
    const server = await listenOnLoopback(t, pretenders.flooding);
    const response = await create()(server.url);
    await rejectsWith('too_large', readAll(response));
    await until('its connection ends', async () => (await server.openConnections()) === 0);
  });

  it('counts the decompressed size of a response', async (t) => {
    const bomb = gzipSync(Buffer.alloc(200_000));
    assert.ok(bomb.length < 1_000);
    const answer: RequestListener = (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    };
    await rejectsWith('too_large', send(t, answer));
    assert.equal((await send(t, answer, { responseBytesMax: 200_000 })).length, 200_000);
  });

  it('limits the headers of a response', async (t) => {
    const answer: RequestListener = (_, response) => {
      response.setHeader('x-large', 'x'.repeat(100_000)).end();
    };
    await rejectsWith('too_large', send(t, answer));
  });

  it('reports a server without TLS', async (t) => {
    const server = await listenOnLoopback(t, hello);
    await rejectsWith('tls', create()(server.url.replace('http:', 'https:')));
  });

  it('reports a broken connection', async (t) => {
    await rejectsWith('failed', send(t, pretenders.closing));
  });

  it('does not repeat a header that cannot be sent', async (t) => {
    const server = await listenOnLoopback(t, hello);
    await rejectsWith('failed', create()(server.url, { headers: { authorization: 'Bearer hunter2\nx' } }));
  });

  it("passes on the reason of the caller's own signal", async (t) => {
    const server = await listenOnLoopback(t, pretenders.stalling);
    const stop = new AbortController();
    const response = await create()(server.url, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await assert.rejects(readAll(response), /enough/);
    await assert.rejects(create()(server.url, { signal: stop.signal }), /enough/);
  });
});

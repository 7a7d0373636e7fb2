// Rates, hosts, origins, proxies and headers: what stands around every request.
import assert from 'node:assert/strict';
import { lookup } from 'node:dns/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { failuresPerMinuteMax } from '../../src/http/authFailures.ts';
import { startService } from '../support/service.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';

interface RawAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
}

/** fetch() does not let a caller set Host. */
function rawGet(url: string, path: string, headers: Record<string, string>): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url + path, { headers }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    request.on('error', reject);
    request.end();
  });
}

describe('open streams', () => {
  it('of a user are limited, 429, whatever their key and kind, and not those of others', async (t) => {
    const service = await startService({ env: { PARLEY_STREAMS_MAX: '2' } }, t);
    const { conversation_id: id } = (await service.ask('/api/conversations', { json: {} })).body;
    const { key } = (await service.ask('/api/keys', { json: { name: 'second' } })).body;
    const { key: ofOther } = (await service.ask('/api/keys', { json: { name: 'k', user: 'other' } })).body;
    const ofConversation = `/api/conversations/${id}/events/stream`;
    for (let i = 0; i < 3; i++)
      assert.equal((await service.ask('/api/conversations/none/events/stream')).status, 404);
    const first = await openStream(service.url, ofConversation, { key: service.key });
    const second = await openStream(service.url, '/api/events/stream', { key });
    assert.deepEqual([first.status, second.status], [200, 200]);
    for (const path of ['/api/events/stream', ofConversation, `/api/conversations/${id}/trajectory`]) {
      const refused = await service.ask(path, { key });
      assert.deepEqual([refused.status, refused.body.code], [429, 'rate_limited'], path);
      assert.match(refused.body.error, /^You have 2 streams open, .* \(PARLEY_STREAMS_MAX\)/);
      assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    }
    assert.equal((await service.ask('/api/settings', { key })).status, 200);
    const other = await openStream(service.url, '/api/events/stream', { key: ofOther });
    assert.equal(other.status, 200);
    first.cut();
    await until('the closed one counts no longer', async () => {
      const again = await openStream(service.url, ofConversation, { key });
      return again.status === 200;
    });
  });
});

describe('rates', () => {
  it('refuse the request after the last with 429, Retry-After and RateLimit headers', async (t) => {
    const service = await startService({ env: { PARLEY_RATE_LIMIT: '3' } }, t);
    // At once, because each second allows three more.
    const answers = await Promise.all(Array.from({ length: 40 }, () => service.ask('/api/settings')));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0 && answers.length - refused.length >= 3, `${refused.length}`);
    assert.equal(refused[0]?.body.code, 'rate_limited');
    assert.match(refused[0]?.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal(refused[0]?.headers.get('ratelimit-limit'), '3');
    assert.equal(refused[0]?.headers.get('ratelimit-remaining'), '0');
    assert.match(refused[0]?.headers.get('ratelimit-reset') ?? '', /^\d+$/);
  });

  it('count each key for itself', async (t) => {
    const service = await startService({ env: { PARLEY_CREATE_LIMIT: '1' } }, t);
    const { body } = await service.ask('/api/keys', { json: { name: 'other' } });
    const create = (key: string) => service.ask('/api/conversations', { json: {}, key });
    assert.equal((await create(service.key)).status, 200);
    assert.equal((await create(service.key)).status, 429);
    assert.equal((await create(body.key)).status, 200);
  });

  it('count requests that are refused for their body, too', async (t) => {
    const service = await startService({ env: { PARLEY_RATE_LIMIT: '2' } }, t);
    const create = () => service.ask('/api/conversations', { json: { nonsense: 1 } });
    await until('the next one is refused', async () => {
      // Less than two a second, so that these requests alone would stay within the limit.
      await wait(1_000);
      await Promise.all(Array.from({ length: 10 }, create));
      return (await service.ask('/api/settings')).status === 429;
    });
  });

  it('let a safe retry pass, by id and by Idempotency-Key, and count it not', async (t) => {
    const service = await startService({ env: { PARLEY_CREATE_LIMIT: '2', PARLEY_RATE_LIMIT: '1000' } }, t);
    const byId = { json: { conversation_id: 'mine', initial_user_msg: 'a' } };
    const byKey = { json: { initial_user_msg: 'b' }, headers: { 'idempotency-key': 'k' } };
    const first = await service.ask('/api/conversations', byId);
    for (let i = 0; i < 5; i++) assert.equal((await service.ask('/api/conversations', byId)).status, 200);
    const second = await service.ask('/api/conversations', byKey);
    assert.deepEqual([first.status, second.status], [200, 200]);
    assert.equal((await service.ask('/api/conversations', { json: {} })).status, 429);
    assert.equal((await service.ask('/api/conversations', byId)).status, 200);
    const again = await service.ask('/api/conversations', byKey);
    assert.deepEqual([again.status, again.body.conversation_id], [200, second.body.conversation_id]);
    const conflict = { json: { conversation_id: 'mine', initial_user_msg: 'other' } };
    assert.equal((await service.ask('/api/conversations', conflict)).status, 409);
  });

  it('are off on loopback by default', async (t) => {
    const service = await startService({}, t);
    const answers = await Promise.all(
      Array.from({ length: 150 }, () => service.ask('/api/conversations', { json: {} })),
    );
    assert.ok(answers.every(({ status }) => status === 200));
  });
});

describe('failed authentications', () => {
  it('are refused with 429 after too many, while valid keys pass, and no key is logged', async (t) => {
    const service = await startService({}, t);
    const { body: unused } = await service.ask('/api/keys', { json: { name: 'unused so far' } });
    const wrongKey = 'pk_0123456789abcdef_CANARYcanaryCANARYcanaryCANARYcanaryCANARYc';
    // At once, because each second allows another one.
    const answers = await Promise.all(
      Array.from({ length: 2 * failuresPerMinuteMax }, (_, i) =>
        service.ask('/api/settings', { key: i % 2 === 0 ? wrongKey : 'CANARY-short' }),
      ),
    );
    const refused = answers.filter(({ status }) => status === 401).length;
    const limited = answers.filter(
      ({ status, body }) => status === 429 && body.code === 'rate_limited',
    ).length;
    assert.ok(refused >= failuresPerMinuteMax && limited > 0, `${refused} ${limited}`);
    assert.equal(refused + limited, answers.length);
    for (const key of [service.key, unused.key])
      assert.equal((await service.ask('/api/settings', { key })).status, 200);
    // A request without a credential is not an attempt.
    assert.equal((await service.ask('/api/settings', { key: null })).status, 401);
    assert.match(service.logs(), /"authentication failed"/);
    assert.match(service.logs(), /"too many failed authentications"/);
    assert.match(service.logs(), /"address":"127\.0\.0\.1","route":"GET \/api\/settings"/);
    assert.doesNotMatch(service.logs(), /CANARY/);
  });

  it('are counted by the address that a trusted proxy names', async (t) => {
    const service = await startService({ env: { PARLEY_TRUST_PROXY: '1' } }, t);
    const fail = (address: string) =>
      service.ask('/api/settings', { key: 'wrong-key', headers: { 'x-forwarded-for': address } });
    const many = Array.from({ length: 2 * failuresPerMinuteMax }, () => fail('192.0.2.1'));
    const statuses = (await Promise.all(many)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([401, 429]));
    assert.equal((await fail('192.0.2.2')).status, 401);
  });
});

describe('hosts and origins', () => {
  it('on loopback pass loopback names at any port and refuse others, 403', async (t) => {
    const service = await startService({ env: { PARLEY_ALLOWED_HOSTS: 'parley.test' } }, t);
    for (const host of [
      'localhost',
      'LOCALHOST:99',
      '127.0.0.1:1',
      '0.0.0.0',
      '0.0.0.0:3000',
      '127.9.9.9',
      '[::1]:3000',
      'app.localhost',
      'parley.test:8',
    ])
      assert.equal((await rawGet(service.url, '/alive', { host })).status, 200, host);
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '10.0.0.1',
      '0.0.0.0.evil.example',
      '127.0.0.1.evil.example',
      'evil@localhost',
    ])
      assert.equal((await rawGet(service.url, '/alive', { host })).status, 403, host);
  });

  it('refuse a page of another origin, 403, on every path', async (t) => {
    const service = await startService({}, t);
    const { host } = new URL(service.url);
    for (const path of ['/api/settings', '/alive', '/nowhere']) {
      for (const origin of ['https://evil.example', 'null', 'http://localhost:1'])
        assert.equal((await rawGet(service.url, path, { host, origin })).status, 403, origin);
    }
    assert.equal((await rawGet(service.url, '/alive', { host, origin: `http://${host}` })).status, 200);
  });

  it('answer a preflight of a configured origin and name it, and keep CORS off otherwise', async (t) => {
    const origin = 'https://app.example';
    const service = await startService({ env: { PARLEY_CORS_ORIGINS: origin } }, t);
    const preflight = await service.ask('/api/conversations', {
      method: 'OPTIONS',
      key: null,
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-origin'), origin);
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /X-Session-API-Key/);
    const real = await service.ask('/api/settings', { headers: { origin } });
    assert.deepEqual([real.status, real.headers.get('access-control-allow-origin')], [200, origin]);
    assert.match(real.headers.get('vary') ?? '', /Origin/);
    const plain = await service.ask('/api/settings');
    assert.equal(plain.headers.get('access-control-allow-origin'), null);
  });

  it('believe X-Forwarded-Host of a trusted proxy alone', async (t) => {
    const headers = { host: 'localhost', 'x-forwarded-host': 'evil.example' };
    const plain = await startService({}, t);
    assert.equal((await rawGet(plain.url, '/alive', headers)).status, 200);
    const proxied = await startService({ env: { PARLEY_TRUST_PROXY: 'loopback' } }, t);
    assert.equal((await rawGet(proxied.url, '/alive', headers)).status, 403);
    const good = { host: 'localhost', 'x-forwarded-host': 'localhost:1' };
    assert.equal((await rawGet(proxied.url, '/alive', good)).status, 200);
  });
});

describe('answers', () => {
  it('carry the security headers and a request id, errors too', async (t) => {
    const service = await startService({}, t);
    for (const path of ['/api/settings', '/alive', '/nowhere']) {
      const { headers } = await service.ask(path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.ok(headers.get('x-request-id'));
    }
    const { body, headers } = await service.ask('/nowhere');
    assert.equal(body.request_id, headers.get('x-request-id'));
  });

  it('to what is not HTTP have the same shape, 400, and to endless headers, 431', async (t) => {
    const service = await startService({}, t);
    const port = Number(new URL(service.url).port);
    const talk = (text: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(text));
        let answer = '';
        socket.on('data', (data) => {
          answer += data;
        });
        socket.on('close', () => resolve(answer));
        socket.on('error', reject);
      });
    assert.match(await talk('rubbish\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*"code":"malformed_request"/);
    const long = `GET /alive HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`;
    assert.match(await talk(long), /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/);
  });
});

describe('HOST=localhost', () => {
  it('answers on every address of that name', async (t) => {
    const service = await startService({ env: { HOST: 'localhost' } }, t);
    const { port } = new URL(service.url);
    for (const { address, family } of await lookup('localhost', { all: true })) {
      const url = `http://${family === 6 ? `[${address}]` : address}:${port}`;
      assert.equal((await rawGet(url, '/alive', { host: 'localhost' })).status, 200, address);
    }
  });
});

describe('health', () => {
  it('answers without a key, 200', async (t) => {
    const service = await startService({}, t);
    for (const path of ['/alive', '/ready'])
      assert.deepEqual((await service.ask(path, { key: null })).body, { status: 'ok' });
    assert.equal((await service.ask('/health', { key: null })).body, 'OK');
    const { body } = await service.ask('/server_info', { key: null });
    assert.deepEqual(Object.keys(body), [
      'name',
      'version',
      'uptime',
      'database',
      'role',
      'sandbox',
      'seccomp',
      'limits',
    ]);
  });
});

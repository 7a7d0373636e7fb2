import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { openConnection } from '../../test/support/connection.ts';
import { type Answer, type Ask, startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

const token = 'preset-token-1';
const path = '/api/settings';
/** A condition that never holds takes the usual way to the same answer. */
const usually = { 'if-none-match': '"other"' };

function described({ status, headers, text }: Answer) {
  const fixed = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
  return { status, text, headers: Object.fromEntries(fixed) };
}

/** The first answers load the settings and the key, and make the host known. */
async function start(t: TestContext, env: Record<string, string> = {}): Promise<TestService> {
  const service = await startService({ env: { PARLEY_AUTH_TOKEN: token, ...env } }, t);
  for (const credential of [{}, { bearer: token }]) await service.ask(path, credential);
  return service;
}

/** What is logged of a request tells which way it took: the framework measures the time, the lane does not. */
function loggedWays(service: TestService): string[] {
  const lines = service.logs().split('\n').filter(Boolean);
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'request')
    .map(({ ms }) => (ms === undefined ? 'lane' : 'framework'));
}

async function wayOf(service: TestService, ask: Ask): Promise<string | undefined> {
  const before = loggedWays(service).length;
  await service.ask(path, ask);
  return until('the request is logged', () => loggedWays(service)[before]);
}

describe('the fast lane of GET /api/settings', () => {
  it('gives the answer of the usual way, header by header, to a key and to a token, 200', async (t) => {
    const service = await start(t);
    for (const credential of [{}, { bearer: token }, { bearer: service.key }]) {
      const fast = await service.ask(path, credential);
      assert.equal(fast.status, 200);
      assert.deepEqual(
        described(fast),
        described(await service.ask(path, { ...credential, headers: usually })),
      );
      assert.ok(fast.headers.get('x-request-id'));
    }
  });

  it('is open with a rate limit, trusted proxies and debug logging, and leaves what is not plain to the framework', async (t) => {
    const service = await start(t, { PARLEY_RATE_LIMIT: '1000', PARLEY_TRUST_PROXY: 'loopback' });
    const { host } = new URL(service.url);
    assert.equal(await wayOf(service, {}), 'lane');
    assert.equal(await wayOf(service, { bearer: token }), 'lane');
    assert.equal(await wayOf(service, { headers: { 'x-forwarded-host': host } }), 'lane');
    const foreign = { headers: { 'x-forwarded-host': 'evil.example' } };
    assert.equal(await wayOf(service, foreign), 'framework');
    assert.equal((await service.ask(path, foreign)).status, 403);
    assert.equal(await wayOf(service, { headers: usually }), 'framework');
    assert.equal(await wayOf(service, { method: 'HEAD' }), 'framework');
    assert.equal(await wayOf(service, { key: 'rubbish' }), 'framework');
  });

  it('counts each request once towards the rate limit, and refuses with 429', async (t) => {
    const service = await startService({ env: { PARLEY_RATE_LIMIT: '20' } }, t);
    // At once, because each second allows others.
    const answers = await Promise.all(Array.from({ length: 100 }, () => service.ask(path)));
    const accepted = answers.filter(({ status }) => status === 200).length;
    assert.ok(accepted >= 20, `refused after ${accepted}`);
    const refused = answers.find(({ status }) => status === 429);
    assert.equal(refused?.headers.get('ratelimit-limit'), '20');
  });

  it('shows a change at once', async (t) => {
    const service = await start(t);
    await service.ask(path, { json: { language: 'de' } });
    for (let i = 0; i < 2; i++) assert.equal((await service.ask(path)).body.language, 'de');
  });

  it('lets nobody in whom the usual way would not', async (t) => {
    const service = await start(t);
    const { body } = await service.ask('/api/keys', { json: { name: 'x', scopes: ['conversations:write'] } });
    assert.equal((await service.ask(path, { key: body.key })).status, 403);
    const made = (await service.ask('/api/keys', { json: { name: 'y' } })).body;
    for (let i = 0; i < 2; i++) assert.equal((await service.ask(path, { key: made.key })).status, 200);
    await service.ask(`/api/keys/${made.id}`, { method: 'DELETE' });
    for (const key of [made.key, 'rubbish', token, '', null])
      assert.equal((await service.ask(path, { key })).status, 401);
    const foreign = await service.ask(path, { headers: { origin: 'https://evil.example' } });
    assert.equal(foreign.status, 403);
  });

  it('looks at the headers of each request of a connection anew', async (t) => {
    const service = await start(t);
    const connection = await openConnection(service.url);
    t.after(connection.close);
    const wire = (key: string) =>
      `GET ${path} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nX-Session-API-Key: ${key}\r\n\r\n`;
    const wrong = `${service.key.slice(0, -1)}_`;
    connection.send([service.key, service.key, wrong, service.key].map(wire).join(''));
    const statuses = () =>
      [...connection.received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    await until('four answers', () => statuses().length === 4);
    assert.deepEqual(statuses(), ['200', '200', '401', '200']);
  });
});

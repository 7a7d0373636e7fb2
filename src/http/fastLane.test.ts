import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConnection } from '../../test/support/connection.ts';
import { type Ask, startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import { createDateText } from './readyHead.ts';

describe('the fast lane of GET /api/settings', () => {
  let service: TestService;
  before(async () => {
    // At debug every request is logged, and takes the usual way.
    const env = { PARLEY_LOG_LEVEL: 'info', PARLEY_AUTH_TOKEN: 'preset-token-1' };
    service = await startService({ env });
    // The first answers make the record and the host known.
    for (const credential of [{}, { bearer: 'preset-token-1' }])
      await service.ask('/api/settings', credential);
  });
  after(() => service.stop());

  /** A condition that never holds takes the usual way to the same answer. */
  const usually = (ask: Ask = {}) =>
    service.ask('/api/settings', { ...ask, headers: { 'if-none-match': '"other"' } });

  function described({ status, headers, text }: Awaited<ReturnType<typeof usually>>) {
    const fixed = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
    return { status, text, headers: Object.fromEntries(fixed) };
  }

  it('gives the answer of the usual way, header by header, to a key and to a token, 200', async () => {
    for (const credential of [{}, { bearer: 'preset-token-1' }, { bearer: service.key }]) {
      const fast = await service.ask('/api/settings', credential);
      assert.equal(fast.status, 200);
      assert.deepEqual(described(fast), described(await usually(credential)));
      assert.ok(fast.headers.get('x-request-id'));
    }
  });

  it('shows a change at once', async () => {
    await service.ask('/api/settings', { json: { language: 'de' } });
    assert.equal((await service.ask('/api/settings')).body.language, 'de');
    assert.equal((await service.ask('/api/settings')).body.language, 'de');
  });

  it('lets nobody in whom the usual way would not', async () => {
    const { body } = await service.ask('/api/keys', { json: { name: 'x', scopes: ['conversations:write'] } });
    assert.equal((await service.ask('/api/settings', { key: body.key })).status, 403);
    const made = (await service.ask('/api/keys', { json: { name: 'y' } })).body;
    for (let i = 0; i < 2; i++)
      assert.equal((await service.ask('/api/settings', { key: made.key })).status, 200);
    await service.ask(`/api/keys/${made.id}`, { method: 'DELETE' });
    for (const key of [made.key, 'rubbish', 'preset-token-1', '', null])
      assert.equal((await service.ask('/api/settings', { key })).status, 401);
    const foreign = await service.ask('/api/settings', { headers: { origin: 'https://evil.example' } });
    assert.equal(foreign.status, 403);
  });

  it('looks at the headers of each request of a connection anew', async (t) => {
    const connection = await openConnection(service.url);
    t.after(connection.close);
    const wire = (key: string) =>
      `GET /api/settings HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nX-Session-API-Key: ${key}\r\n\r\n`;
    const wrong = `${service.key.slice(0, -1)}_`;
    connection.send([service.key, service.key, wrong, service.key].map(wire).join(''));
    const statuses = () =>
      [...connection.received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    await until('four answers', () => statuses().length === 4);
    assert.deepEqual(statuses(), ['200', '200', '401', '200']);
  });

  it('tells the time to the second, also when the clock is set back', async () => {
    let now = 0;
    const dateText = createDateText(() => now);
    for (now of [0, 999, 1_000, 61_000, 60_999, 1.7e12]) {
      const second = Math.floor(now / 1_000) * 1_000;
      assert.equal(dateText(), new Date(second).toUTCString());
    }
    const before = Math.floor(Date.now() / 1_000) * 1_000;
    const told = Date.parse((await service.ask('/api/settings')).headers.get('date') ?? '');
    assert.ok(told >= before && told <= Date.now(), String(told));
  });
});

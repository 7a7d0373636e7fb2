import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openConnection } from '../../test/support/connection.ts';
import { countRows } from '../../test/support/inspect.ts';
import { type Ask, startService, type TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';

const path = '/api/conversations';

describe('the fast lane of POST /api/conversations', () => {
  let service: TestService;
  before(async () => {
    // At debug every request is logged, and takes the usual way.
    service = await startService({ env: { PARLEY_LOG_LEVEL: 'info' } });
    await service.ask('/api/settings');
  });
  after(() => service.stop());

  /** A charset that is said aloud takes the usual way to the same answer. */
  const usually = (ask: Ask) =>
    service.ask(path, {
      ...ask,
      headers: { ...ask.headers, 'content-type': 'application/json; charset=utf-8' },
    });

  function described({ status, headers, text }: Awaited<ReturnType<typeof usually>>) {
    const fixed = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
    const same = text.replace(/"request_id":"[^"]*"/, '"request_id":""');
    return { status, text: same, headers: Object.fromEntries(fixed) };
  }

  it('gives the answer of the usual way, header by header', async () => {
    const json = { conversation_id: 'same-1', initial_user_msg: 'Grüße 你好' };
    const fast = await service.ask(path, { json });
    assert.equal(fast.status, 200);
    assert.ok(fast.headers.get('x-request-id'));
    assert.deepEqual(described(fast), described(await usually({ json })));
  });

  it('gives the errors of the usual way: broken, wrong, taken', async () => {
    const cases: Ask[] = [
      { raw: '{"initial_user_msg": ' },
      { raw: '{"a":"\\ud800"' },
      { raw: Buffer.from([0x7b, 0xff, 0x7d]) },
      { raw: '[]' },
      { json: { initial_user_msg: 1 } },
      { json: { git_provider: 'nobody' } },
      { json: { conversation_id: 'same-1', initial_user_msg: 'another' } },
      { json: {}, headers: { 'idempotency-key': 'é' } },
      { json: {}, key: 'rubbish' },
    ];
    for (const ask of cases) {
      const headers = { 'content-type': 'application/json', ...ask.headers };
      const fast = await service.ask(path, { method: 'POST', ...ask, headers });
      assert.ok(fast.status >= 400 && fast.status < 500, String(fast.status));
      assert.deepEqual(described(fast), described(await usually({ method: 'POST', ...ask })));
    }
  });

  it('keeps the promise of an Idempotency-Key', async () => {
    const ask = { json: { initial_user_msg: 'once' }, headers: { 'idempotency-key': 'k-1' } };
    const first = await service.ask(path, ask);
    assert.equal((await service.ask(path, ask)).body.conversation_id, first.body.conversation_id);
    assert.equal((await usually(ask)).body.conversation_id, first.body.conversation_id);
  });

  it('takes a body in pieces; one that breaks off stores nothing', async (t) => {
    const count = () => countRows(service.place, 'conversations');
    const head = `POST ${path} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\nX-Session-API-Key: ${service.key}\r\nContent-Type: application/json\r\nContent-Length: 32\r\n\r\n`;
    const [first, second] = ['{"initial_user_msg":', '"in pieces"}'];
    const before = await count();
    const broken = await openConnection(service.url);
    broken.send(head + first);
    const whole = await openConnection(service.url);
    t.after(whole.close);
    whole.send(head + first);
    assert.equal(await count(), before);
    broken.close();
    whole.send(second);
    await until('an answer', () => whole.received().startsWith('HTTP/1.1 200'));
    assert.equal(await count(), before + 1);
  });

  function wire(body: string, more = '', version = '1.1'): string {
    return `POST ${path} HTTP/${version}\r\nHost: ${new URL(service.url).host}\r\nX-Session-API-Key: ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;
  }

  it('answers what comes at once one after the other, a faulty one among them', async (t) => {
    const connection = await openConnection(service.url);
    t.after(connection.close);
    const bodies = [
      '{"conversation_id":"in-a-row-1"}',
      '{"conversation_id":2}',
      '{"conversation_id":"in-a-row-3"}',
    ];
    connection.send(bodies.map((body) => wire(body)).join(''));
    await until('the last answer', () => connection.received().includes('in-a-row-3'));
    const statuses = [...connection.received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status);
    assert.deepEqual(statuses, ['200', '422', '200']);
    assert.ok(connection.received().indexOf('in-a-row-1') < connection.received().indexOf('details'));
  });

  it('closes the connection of a client that wants it closed, or that is too old to stay', async (t) => {
    for (const request of [
      wire('{"conversation_id":"close-1"}', 'Connection: close\r\n'),
      wire('{"conversation_id":"close-1"}', '', '1.0'),
    ]) {
      const connection = await openConnection(service.url);
      t.after(connection.close);
      connection.send(request);
      await until('the end', connection.closed);
      assert.match(connection.received(), /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(connection.received(), /\r\nConnection: close\r\n/i);
      assert.match(connection.received(), /"conversation_id":"close-1"/);
    }
  });

  it('asks for a body that waits to be asked for', async (t) => {
    const connection = await openConnection(service.url);
    t.after(connection.close);
    const body = '{"conversation_id":"expected-1"}';
    connection.send(wire(body, 'Expect: 100-continue\r\n').slice(0, -body.length));
    await until('the word', () => connection.received().startsWith('HTTP/1.1 100 Continue'));
    connection.send(body);
    await until('an answer', () => connection.received().includes('"expected-1"'));
  });

  it('never has a refusal take the place of its answer', async (t) => {
    const connection = await openConnection(service.url);
    t.after(connection.close);
    connection.send(`${wire('{"conversation_id":"before-rubbish"}')}rubbish`);
    await until('the end', connection.closed);
    assert.doesNotMatch(connection.received(), /malformed_request/);
  });
});

// A creation creates one conversation, however often the request is sent.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connect, connectThrough, hasCode } from '../../test/support/client.ts';
import type { TestService } from '../../test/support/service.ts';
import { until, watch } from '../../test/support/until.ts';
import { createParley, type ParleyError } from './parley.ts';

describe('a creation of the client', () => {
  const titles = async (service: TestService) =>
    (await service.ask('/api/conversations')).body.results.map(({ title }: { title: string }) => title);

  it('creates one conversation if the responses to the first attempts are lost', async (t) => {
    const { service, proxy, parley } = await connectThrough(t);
    // Long enough for the request to arrive, but too short for its response.
    proxy.cutAfter(1);
    const creating = watch(parley.conversations.create({ initial_user_msg: 'Once' }));
    await until('a second try', () => proxy.made() >= 2);
    assert.equal(creating.settled(), false);
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    assert.equal((await creating.promise).status, 'ok');
    assert.deepEqual(await titles(service), ['Once']);
  });

  it('creates one conversation if an id or an Idempotency-Key is sent twice', async (t) => {
    const { service, parley } = await connect(t);
    for (let i = 0; i < 2; i++) await parley.conversations.create({ conversation_id: 'mine' });
    for (let i = 0; i < 2; i++) await parley.conversations.create({}, { idempotencyKey: 'order-1' });
    assert.equal((await titles(service)).length, 2);
    await parley.conversations.create({});
    assert.equal((await titles(service)).length, 3);
  });

  it('waits as long as a 429 or 503 requires, and retries', async (t) => {
    const { service } = await connect(t);
    const answers = [429, 503].map(
      (status) =>
        new Response('{"error":"Wait.","code":"overloaded"}', { status, headers: { 'retry-after': '0' } }),
    );
    const keys = new Set<string>();
    const parley = createParley({
      url: service.url,
      key: service.key,
      fetch: (url, init) => {
        keys.add(new Headers(init.headers).get('idempotency-key') ?? '');
        return Promise.resolve(answers.shift() ?? fetch(url, init));
      },
    });
    assert.equal((await parley.conversations.create({})).status, 'ok');
    assert.deepEqual([answers.length, keys.size], [0, 1]);
  });

  it('is not retried if the required delay exceeds its time limit, however long it is', async () => {
    let sent = 0;
    const parley = createParley({
      url: 'http://a.test',
      times: { createForMs: undefined },
      fetch: async () => {
        sent += 1;
        const headers = { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' };
        return new Response('{"error":"Wait.","code":"overloaded"}', { status: 503, headers });
      },
    });
    await assert.rejects(parley.conversations.create({}), (error: ParleyError) => {
      return hasCode('overloaded')(error) && error.retryAfterMs === 3_600_000;
    });
    assert.equal(sent, 1);
  });

  it('limits a retry to the time that is left, and reports the error before it', async () => {
    const faults: string[] = [];
    let tries = 0;
    const parley = createParley({
      url: 'http://a.test',
      times: { createForMs: 5_000, timeoutMs: 60_000 },
      fetch: async (_, { signal }) => {
        tries += 1;
        if (tries === 1) throw new TypeError('fetch failed');
        await new Promise((done) => signal?.addEventListener('abort', done));
        throw signal?.reason;
      },
    });
    const creating = parley.conversations.create({}, { onRetry: ({ code }) => faults.push(code) });
    await assert.rejects(creating, /did not answer within [0-4]\.\d/);
    assert.deepEqual([tries, faults], [2, ['network']]);
  });

  it('throws the last error after its time limit, at once if the service refuses, and ends with its signal', async (t) => {
    const { service, proxy } = await connectThrough(t);
    proxy.refuse(true);
    const make = (createForMs: number) =>
      createParley({ url: proxy.url, key: service.key, times: { createForMs } }).conversations;
    await assert.rejects(make(0).create({}), hasCode('network'));
    assert.equal(proxy.made(), 1);
    const ending = new AbortController();
    const creating = make(600_000).create({}, { signal: ending.signal });
    await until('a second try', () => proxy.made() >= 3);
    ending.abort(new Error('enough'));
    await assert.rejects(creating, /enough/);
    proxy.refuse(false);
    const before = proxy.made();
    await assert.rejects(make(600_000).create({ conversation_id: '..' }), hasCode('invalid'));
    assert.equal(proxy.made(), before + 1);
  });
});

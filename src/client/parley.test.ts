import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type CutProxy, startCutProxy } from '../../test/support/cutProxy.ts';
import { startService, type TestService } from '../../test/support/service.ts';
import { until, watch } from '../../test/support/until.ts';
import { createParley, type Parley, ParleyError, type ParleyEvent, type ParleyOptions } from './parley.ts';

/** So that tests need not wait as people do. */
const quick = { reconnectMs: 10, reconnectMaxMs: 50 };

async function connect(t: TestContext, options: Partial<ParleyOptions> = {}) {
  const service = await startService({}, t);
  return { service, parley: createParley({ url: service.url, key: service.key, times: quick, ...options }) };
}

/** The client behind a proxy that breaks connections. */
async function connectThrough(t: TestContext, options: Partial<ParleyOptions> = {}) {
  const service = await startService({}, t);
  const proxy = await startCutProxy(service.url, t);
  const parley = createParley({ url: proxy.url, key: service.key, times: quick, ...options });
  return { service, proxy, parley };
}

const hasCode = (code: string) => (error: unknown) => error instanceof ParleyError && error.code === code;

describe('a call of the client', () => {
  it('reads and changes settings', async (t) => {
    const { parley } = await connect(t);
    assert.equal((await parley.settings.get()).language, null);
    const changed = await parley.settings.update({ language: 'de', llm_api_key: 'k' });
    assert.deepEqual([changed.language, changed.llm_api_key_set, changed.llm_api_key], ['de', true, null]);
    assert.equal((await parley.settings.get()).language, 'de');
  });

  it('creates, lists, reads, renames, stops, starts, writes to and deletes a conversation', async (t) => {
    const { parley } = await connect(t);
    const made = await parley.conversations.create({ initial_user_msg: 'Hello', repository: 'acme/shop' });
    const id = made.conversation_id;
    await parley.conversations.create({ initial_user_msg: 'Other' });
    const page = await parley.conversations.list({ limit: 1, q: 'SHOP' });
    assert.deepEqual(
      [page.results.map(({ conversation_id }) => conversation_id), page.next_page_id],
      [[id], null],
    );
    const first = await parley.conversations.list({ limit: 1 });
    const second = await parley.conversations.list({ limit: 1, page_id: String(first.next_page_id) });
    assert.deepEqual(second.results[0]?.conversation_id, id);
    await parley.conversations.rename(id, 'Greeting');
    assert.equal((await parley.conversations.stop(id)).conversation_status, 'STOPPED');
    assert.equal((await parley.conversations.start(id)).conversation_status, 'STARTING');
    await parley.conversations.message(id, 'Again');
    await parley.conversations.message(id, { message: 'With it', image_urls: ['https://a.test/b.png'] });
    const info = await parley.conversations.get(id);
    assert.deepEqual([info.title, info.status], ['Greeting', 'STARTING']);
    assert.equal((await parley.conversations.usage(id)).requests, 0);
    const newest = await parley.conversations.events(id, { reverse: true, limit: 1 });
    assert.equal(newest.events[0]?.message, 'With it');
    const { trajectory } = await parley.conversations.trajectory(id);
    assert.equal(trajectory.at(-1)?.id, newest.events[0]?.id);
    const file = JSON.parse(await (await parley.conversations.trajectoryFile(id)).text());
    assert.deepEqual(file, { trajectory });
    assert.equal(await parley.conversations.delete(id), true);
    assert.equal(await parley.conversations.delete(id), false);
    await assert.rejects(parley.conversations.get(id), hasCode('not_found'));
  });

  it('manages secrets, providers, keys and webhooks', async (t) => {
    const { parley, service } = await connect(t);
    await parley.secrets.create({ name: 'TOKEN', value: 'v' });
    await parley.secrets.update('TOKEN', { value: 'w', description: 'for it' });
    const { custom_secrets } = await parley.secrets.list();
    assert.deepEqual(custom_secrets, [{ name: 'TOKEN', description: 'for it' }]);
    await parley.secrets.delete('TOKEN');
    await parley.gitProviders.set({ github: { token: 't' }, gitlab: { token: 't' } });
    await parley.gitProviders.delete('gitlab');
    assert.deepEqual((await parley.settings.get()).provider_tokens_set, { github: null });
    await parley.gitProviders.clear();
    assert.deepEqual((await parley.settings.get()).provider_tokens_set, {});
    const key = await parley.keys.create({ name: 'laptop' });
    const other = createParley({ url: `${service.url}/`, key: key.key });
    assert.equal((await other.settings.get()).language, null);
    assert.equal((await parley.keys.revoke(key.id)).id, key.id);
    assert.ok(
      (await parley.keys.list()).keys.some(({ id, revoked_at }) => id === key.id && revoked_at !== null),
    );
    const hook = await parley.webhooks.create({
      url: 'http://127.0.0.1:9/',
      events: ['conversation.status'],
    });
    assert.match(hook.secret, /^whsec_/);
    assert.deepEqual((await parley.webhooks.deliveries(hook.id, { limit: 1 })).deliveries, []);
    assert.equal(await parley.webhooks.redeliver(hook.id), 0);
    await parley.webhooks.delete(hook.id);
    assert.deepEqual((await parley.webhooks.list()).webhooks, []);
  });

  it('tells what can be chosen, checks tool servers, and reads what the service is without a key', async (t) => {
    const { parley, service } = await connect(t);
    assert.ok((await parley.options.models()).length > 3);
    assert.ok((await parley.options.agents()).includes('builtin'));
    assert.deepEqual(await parley.options.securityAnalyzers(), ['tool_kind']);
    const { servers } = await parley.mcp.check({ shttp_servers: ['wss://tools.test/mcp'] });
    assert.equal(servers[0]?.status, 'not_checked');
    assert.deepEqual((await parley.mcp.check()).servers, []);
    const open = createParley({ url: service.url });
    assert.equal((await open.server.info()).name, 'parley');
    await open.server.ready();
  });

  it('throws what the service says, with its code, status, places and request id', async (t) => {
    const { parley } = await connect(t);
    const error = await parley.settings.update({ max_iterations: 0 }).catch((thrown) => thrown);
    assert.ok(error instanceof ParleyError);
    assert.deepEqual([error.code, error.status, error.isNetworkFault], ['invalid', 422, false]);
    assert.equal(error.message, 'max_iterations must be at least 1.');
    assert.deepEqual(
      error.details.map(({ path }) => path),
      ['max_iterations'],
    );
    assert.match(String(error.requestId), /\S/);
    await assert.rejects(parley.workspace.changes('none'), hasCode('not_found'));
    await assert.rejects(parley.conversations.confirm('none', { decision: 'allow' }), hasCode('not_found'));
  });

  it('tells a refused key from a service that is not there', async (t) => {
    const { service } = await connect(t);
    await assert.rejects(createParley({ url: service.url, key: 'wrong-key' }).settings.get(), (error) => {
      return error instanceof ParleyError && error.code === 'unauthorized' && error.status === 401;
    });
    const nowhere = createParley({ url: 'http://127.0.0.1:9', key: 'k' });
    await assert.rejects(nowhere.settings.get(), (error) => {
      return error instanceof ParleyError && error.code === 'network' && error.isNetworkFault;
    });
  });

  it('throws where the answer is late, of another program, or a redirect, and sends the key nowhere else', async (t) => {
    const { service } = await connect(t);
    const answered = (response: () => Promise<Response>) =>
      createParley({ url: service.url, key: 'k', fetch: response, times: { timeoutMs: 20 } }).settings.get();
    const page = () => Promise.resolve(new Response('<html>', { status: 502 }));
    await assert.rejects(answered(page), (error) => {
      return error instanceof ParleyError && error.code === 'unexpected' && error.status === 502;
    });
    await assert.rejects(
      answered(() => Promise.resolve(new Response('<html>'))),
      hasCode('unexpected'),
    );
    const seen: RequestInit[] = [];
    const late = createParley({
      url: service.url,
      times: { timeoutMs: 20 },
      fetch: (_, init) => {
        seen.push(init);
        return new Promise((_resolve, reject) =>
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
        );
      },
    });
    await assert.rejects(late.settings.get(), hasCode('timeout'));
    assert.equal(seen[0]?.redirect, 'error');
  });

  it('ends with the reason of its signal', async (t) => {
    const { parley } = await connect(t);
    const reason = new Error('enough');
    await assert.rejects(parley.settings.get({ signal: AbortSignal.abort(reason) }), reason);
  });
});

describe('a creation of the client', () => {
  const titles = async (service: TestService) =>
    (await service.ask('/api/conversations')).body.results.map(({ title }: { title: string }) => title);

  it('makes one conversation where the answers of the first tries are lost', async (t) => {
    const { service, proxy, parley } = await connectThrough(t);
    // Long enough for the request to arrive, too short for its answer.
    proxy.cutAfter(1);
    const creating = watch(parley.conversations.create({ initial_user_msg: 'Once' }));
    await until('a second try', () => proxy.made() >= 2);
    assert.equal(creating.settled(), false);
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    assert.equal((await creating.promise).status, 'ok');
    assert.deepEqual(await titles(service), ['Once']);
  });

  it('makes one conversation of an id of the caller, and of an Idempotency-Key, sent twice', async (t) => {
    const { service, parley } = await connect(t);
    for (let i = 0; i < 2; i++) await parley.conversations.create({ conversation_id: 'mine' });
    for (let i = 0; i < 2; i++) await parley.conversations.create({}, { idempotencyKey: 'order-1' });
    assert.equal((await titles(service)).length, 2);
    await parley.conversations.create({});
    assert.equal((await titles(service)).length, 3);
  });

  it('waits as long as a 429 or 503 asks, and tries again', async (t) => {
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

  it('throws the last fault past its bound, at once where the service refuses, and ends with its signal', async (t) => {
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

/** Reads in the background, and keeps what came. */
function collect(parley: Parley, id: string, from = 0) {
  const ending = new AbortController();
  const events: ParleyEvent[] = [];
  const states: string[] = [];
  const options = { from, signal: ending.signal, onState: (state: string) => states.push(state) };
  const done = (async () => {
    for await (const event of parley.events(id, options)) events.push(event);
  })();
  return { events, states, done, end: () => ending.abort() };
}

const ids = (events: readonly ParleyEvent[]) => events.map(({ id }) => id);

async function say(service: TestService, id: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await service.ask(`/api/conversations/${id}/message`, { json: { message: `number ${i}` } });
}

async function lastId(service: TestService, id: string): Promise<number> {
  const { body } = await service.ask(`/api/conversations/${id}/events?reverse=true&limit=1`);
  return body.events[0].id;
}

async function untilSeen(events: readonly ParleyEvent[], last: number): Promise<void> {
  await until(`event ${last}`, () => events.at(-1)?.id === last);
}

describe('the events of the client', () => {
  async function begin(t: TestContext, options: Partial<ParleyOptions> = {}) {
    const { service, proxy, parley } = await connectThrough(t, options);
    await parley.conversations.create({ conversation_id: 'c', initial_user_msg: 'Hello' });
    return { service, proxy, parley };
  }

  /** Each once, in order, from `first` to the last of the log. */
  async function assertWhole(service: TestService, events: readonly ParleyEvent[], first = 0): Promise<void> {
    const last = await lastId(service, 'c');
    await untilSeen(events, last);
    assert.deepEqual(
      ids(events),
      Array.from({ length: last + 1 - first }, (_, i) => first + i),
    );
  }

  it('come from the start, then live, until the signal ends them', async (t) => {
    const { service, parley } = await begin(t);
    const reading = collect(parley, 'c');
    await assertWhole(service, reading.events);
    await say(service, 'c', 3);
    await assertWhole(service, reading.events);
    reading.end();
    await reading.done;
    assert.deepEqual(reading.states, ['live']);
  });

  it('begin at a number, also one that is not there yet', async (t) => {
    const { service, parley } = await begin(t);
    const last = await lastId(service, 'c');
    const [second, future] = [collect(parley, 'c', 1), collect(parley, 'c', last + 2)];
    await until('both are there', () => [second, future].every(({ states }) => states.includes('live')));
    await say(service, 'c', 3);
    await assertWhole(service, second.events, 1);
    await assertWhole(service, future.events, last + 2);
    for (const { end, done } of [second, future]) {
      end();
      await done;
    }
  });

  it('come each once and in order however often the connection breaks, inside of events too', async (t) => {
    const { service, proxy, parley } = await begin(t);
    await say(service, 'c', 20);
    // More than the head takes, so that each connection brings something.
    proxy.cutAfter(1_500);
    const reading = collect(parley, 'c');
    await assertWhole(service, reading.events);
    await say(service, 'c', 5);
    await assertWhole(service, reading.events);
    assert.ok(proxy.made() > 3);
    assert.deepEqual(reading.states.slice(0, 3), ['live', 'reconnecting', 'live']);
    reading.end();
    await reading.done;
  });

  it('go on after the service could not be reached for a while', async (t) => {
    const { service, proxy, parley } = await begin(t);
    const reading = collect(parley, 'c');
    await assertWhole(service, reading.events);
    proxy.refuse(true);
    const before = proxy.made();
    proxy.cut();
    await until('tries in vain', () => proxy.made() >= before + 3);
    await say(service, 'c', 2);
    proxy.refuse(false);
    await assertWhole(service, reading.events);
    assert.equal(reading.states.at(-1), 'live');
    reading.end();
    await reading.done;
  });

  it('come again where the connection has fallen silent', async (t) => {
    const { service, proxy, parley } = await begin(t, { times: { ...quick, silenceMs: 200 } });
    const reading = collect(parley, 'c');
    await assertWhole(service, reading.events);
    proxy.silence();
    await until('it has given up', () => reading.states.includes('reconnecting'));
    reading.end();
    await reading.done;
  });

  it('wait for a reader that takes its time, without calling that silence', async (t) => {
    const { parley } = await begin(t, { times: { ...quick, silenceMs: 100 } });
    const states: string[] = [];
    const stream = parley.events('c', { onState: (state) => states.push(state) });
    assert.equal((await stream.next()).value?.id, 0);
    await new Promise((done) => setTimeout(done, 150));
    assert.equal((await stream.next()).value?.id, 1);
    assert.deepEqual(states, ['live']);
    await stream.return();
  });

  it('leave no connection behind where their reader stops', async (t) => {
    const { service, parley } = await begin(t);
    for await (const event of parley.events('c')) if (event.id === 0) break;
    await until('nobody follows', async () => {
      return (await service.ask('/api/conversations/c')).body.num_connections === 0;
    });
  });

  it('throw where there is no such conversation, it is deleted, or the key is revoked', async (t) => {
    const { service, proxy, parley } = await begin(t);
    await assert.rejects(collect(parley, 'none').done, hasCode('not_found'));
    const made = await parley.keys.create({ name: 'short' });
    const revoked = collect(createParley({ url: proxy.url, key: made.key, times: quick }), 'c');
    const deleted = collect(parley, 'c');
    await until('both are there', () => [revoked, deleted].every(({ states }) => states.includes('live')));
    await parley.keys.revoke(made.id);
    await assert.rejects(revoked.done, hasCode('unauthorized'));
    await service.ask('/api/conversations/c', { method: 'DELETE' });
    await assert.rejects(deleted.done, hasCode('not_found'));
  });
});

describe('the changes of the client', () => {
  async function collectChanges(parley: Parley, t: TestContext) {
    const ending = new AbortController();
    const seen: string[] = [];
    const states: string[] = [];
    const options = { signal: ending.signal, onState: (state: string) => states.push(state) };
    const done = (async () => {
      for await (const change of parley.changes(options)) seen.push(`${change.title} ${change.status}`);
    })();
    t.after(async () => {
      ending.abort();
      await done;
    });
    await until('it is there', () => states.includes('live'));
    return { seen, states };
  }

  async function lose(proxy: CutProxy, states: readonly string[]): Promise<void> {
    proxy.refuse(true);
    proxy.cut();
    await until('it is lost', () => states.includes('reconnecting'));
  }

  it('tell of each change once, also of those while the connection was lost', async (t) => {
    const { service, proxy, parley } = await connectThrough(t);
    const { seen, states } = await collectChanges(parley, t);
    const ask = (path: string, method: string, json?: object) =>
      service.ask(`/api/conversations${path}`, { method, ...(json === undefined ? {} : { json }) });
    await ask('', 'POST', { conversation_id: 'c', initial_user_msg: 'One' });
    await until('the first', () => seen.length === 1);
    await lose(proxy, states);
    await ask('/c', 'PATCH', { title: 'Two' });
    await ask('/c/stop', 'POST');
    proxy.refuse(false);
    await until('those of meanwhile', () => seen.length === 3);
    await ask('/c', 'DELETE');
    await until('the last', () => seen.length === 4);
    assert.deepEqual(seen, ['One STARTING', 'Two STARTING', 'Two STOPPED', 'Two null']);
  });
});

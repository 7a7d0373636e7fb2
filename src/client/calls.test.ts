// Single calls of the client: what they send, return and throw.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connect, hasCode } from '../../test/support/client.ts';
import { startWithProviders } from '../../test/support/gitProviderService.ts';
import { createParley, decodeEvent, ParleyError } from './parley.ts';

/** A client whose every request gets the same response. */
async function startServer(
  t: TestContext,
  answer: () => { status: number; headers?: Record<string, string> },
  onRequest: () => void = () => {},
): Promise<string> {
  const server = createServer((_, response) => {
    onRequest();
    const { status, headers = {} } = answer();
    response.writeHead(status, headers).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a call of the client', () => {
  it('reads and changes settings', async (t) => {
    const { parley } = await connect(t);
    assert.equal((await parley.settings.get()).language, null);
    const changed = await parley.settings.update({ language: 'de', llm_api_key: 'k' });
    assert.deepEqual([changed.language, changed.llm_api_key_set, changed.llm_api_key], ['de', true, null]);
    assert.equal((await parley.settings.get()).language, 'de');
  });

  it('uploads files by name, and reports those that are skipped', async (t) => {
    const { parley } = await connect(t);
    const { conversation_id: id } = await parley.conversations.create({ initial_user_msg: 'Hello' });
    const uploaded = await parley.conversations.upload(id, [
      new File(['one'], 'a.txt'),
      { name: 'Größe.bin', content: new Blob([new Uint8Array([0, 255])]) },
      new File(['evil'], '../b.txt'),
    ]);
    assert.deepEqual(uploaded.files, [
      { name: 'a.txt', path: '/workspace/a.txt' },
      { name: 'Größe.bin', path: '/workspace/Größe.bin' },
    ]);
    assert.deepEqual(
      uploaded.skipped.map(({ name }) => name),
      ['../b.txt'],
    );
    await parley.conversations.message(id, { message: '', file_urls: ['/workspace/a.txt'] });
    await assert.rejects(parley.conversations.upload(id, []), hasCode('invalid'));
    await assert.rejects(parley.conversations.upload('none', [new File([''], 'a')]), hasCode('not_found'));
  });

  it('creates, lists, reads, renames, stops, starts, messages and deletes a conversation', async (t) => {
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
    const all = await Array.fromAsync(parley.conversations.all({ limit: 1 }));
    assert.deepEqual(all, [...first.results, ...second.results]);
    await parley.conversations.rename(id, 'Greeting');
    assert.equal((await parley.conversations.stop(id)).conversation_status, 'STOPPED');
    assert.equal((await parley.conversations.start(id)).conversation_status, 'STARTING');
    await parley.conversations.message(id, 'Again');
    assert.equal((await parley.conversations.cancel(id)).conversation_status, 'STARTING');
    await parley.conversations.message(id, { message: 'With it', image_urls: ['https://a.test/b.png'] });
    const info = await parley.conversations.get(id);
    assert.deepEqual([info.title, info.status], ['Greeting', 'STARTING']);
    assert.equal((await parley.conversations.usage(id)).requests, 0);
    const newest = await parley.conversations.events(id, { reverse: true, limit: 1 });
    assert.equal(newest.events[0]?.message, 'With it');
    const { trajectory } = await parley.conversations.trajectory(id);
    assert.equal(trajectory.at(-1)?.id, newest.events[0]?.id);
    const file = JSON.parse(await (await parley.conversations.trajectoryFile(id)).text());
    assert.deepEqual(file.trajectory.map(decodeEvent), trajectory);
    assert.deepEqual(trajectory[0], { ...file.trajectory[0], type: 'action.message' });
    assert.equal(await parley.conversations.delete(id), true);
    assert.equal(await parley.conversations.delete(id), false);
    await assert.rejects(parley.conversations.get(id), hasCode('not_found'));
  });

  it('reads what access tokens can see', async (t) => {
    const { service } = await startWithProviders(t, ['github']);
    const parley = createParley({ url: service.url, key: service.key });
    assert.equal((await parley.gitProviders.user('github')).login, 'ada');
    assert.deepEqual(await parley.gitProviders.installations('github'), ['acme']);
    const first = await parley.repositories.list({ provider: 'github', per_page: 2 });
    assert.equal(first.results.length, 2);
    const second = await parley.repositories.list({ per_page: 2, page_id: first.next_page_id ?? '' });
    assert.equal(second.next_page_id, null);
    const repository = 'acme/shop';
    assert.equal((await parley.repositories.search({ q: repository })).results[0]?.full_name, repository);
    assert.equal((await parley.repositories.branches({ repository, q: 'fix' })).results.length, 2);
    assert.equal((await parley.repositories.suggestedTasks()).results.length, 5);
    const [found] = (await parley.repositories.microagents({ repository })).results;
    const { triggers } = await parley.repositories.microagent({ repository, path: found?.path ?? '' });
    assert.deepEqual(triggers, ['deploy']);
    await parley.gitProviders.clear();
    await assert.rejects(parley.repositories.list(), hasCode('git_token_missing'));
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

  it('lists options, checks MCP servers, and reads the server info without an API key', async (t) => {
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

  it('throws the error of the service with its code, status, details and request id', async (t) => {
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

  it('distinguishes a refused API key from an unreachable service', async (t) => {
    const { service } = await connect(t);
    await assert.rejects(createParley({ url: service.url, key: 'wrong-key' }).settings.get(), (error) => {
      return error instanceof ParleyError && error.code === 'unauthorized' && error.status === 401;
    });
    const nowhere = createParley({ url: 'http://127.0.0.1:9', key: 'k' });
    await assert.rejects(nowhere.settings.get(), (error) => {
      return error instanceof ParleyError && error.code === 'network' && error.isNetworkFault;
    });
  });

  it('throws if the response is late or comes from another program', async (t) => {
    const { service } = await connect(t);
    const answered = (response: () => Promise<Response>) =>
      createParley({
        url: service.url,
        key: 'k',
        fetch: response,
        times: { timeoutMs: 60_000 },
      }).settings.get();
    for (const body of ['<html>', 'null'])
      await assert.rejects(
        answered(() => Promise.resolve(new Response(body, { status: 502 }))),
        (error) => error instanceof ParleyError && error.code === 'unexpected' && error.status === 502,
      );
    await assert.rejects(
      answered(() => Promise.resolve(new Response('<html>'))),
      hasCode('unexpected'),
    );
    const late = createParley({
      url: service.url,
      times: { timeoutMs: 20 },
      fetch: (_, init) =>
        new Promise((_resolve, reject) =>
          init.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
        ),
    });
    await assert.rejects(late.settings.get(), hasCode('timeout'));
  });

  it('throws if a response is too large or too deep or never ends, or a list links to itself', async () => {
    const mib = 1_024 * 1_024;
    const endless = (make: () => Uint8Array) =>
      new ReadableStream({ pull: (controller) => controller.enqueue(make()) });
    const answer = (body: () => string | ReadableStream, status = 200) =>
      createParley({
        url: 'http://a.test',
        times: { timeoutMs: 60_000 },
        fetch: async () => new Response(body(), { status }),
      });
    const spaces = new Uint8Array(mib).fill(32);
    for (const status of [200, 400])
      await assert.rejects(answer(() => endless(() => spaces), status).settings.get(), hasCode('unexpected'));
    await assert.rejects(answer(() => '['.repeat(8 * mib)).settings.get(), hasCode('unexpected'));
    const deepText = JSON.stringify({ language: '[{"'.repeat(mib) });
    assert.equal((await answer(() => deepText).settings.get()).language?.length, 3 * mib);
    const round = answer(() => '{"results":[],"next_page_id":"x"}').conversations.all();
    await assert.rejects(Array.fromAsync(round), hasCode('unexpected'));
    const stuck = createParley({
      url: 'http://a.test',
      times: { timeoutMs: 5 },
      fetch: async (_, { signal }) => {
        const start = (controller: ReadableStreamDefaultController) => {
          controller.enqueue(spaces);
          signal?.addEventListener('abort', () => controller.error(signal.reason));
        };
        return new Response(new ReadableStream({ start }));
      },
    });
    for (const call of [stuck.workspace.zip('c'), stuck.conversations.trajectoryFile('c')])
      await assert.rejects(call, hasCode('timeout'));
  });

  it('ignores invalid details of an error', async () => {
    const details = [{ path: 'a', message: 'is bad' }, null, 5, { path: 'b' }];
    const body = JSON.stringify({ error: 'Bad.', code: 'invalid', details });
    const fetch = async () => new Response(body, { status: 422 });
    const call = createParley({ url: 'http://a.test', fetch }).settings.get();
    await assert.rejects(call, (error: ParleyError) => error.details.length === 1);
  });

  it('follows no redirect, names its target, and sends the API key to no other server', async (t) => {
    let requests = 0;
    const other = await startServer(
      t,
      () => ({ status: 200 }),
      () => (requests += 1),
    );
    const first = await startServer(t, () => ({ status: 302, headers: { location: `${other}/there` } }));
    const parley = createParley({ url: first, key: 'k' });
    const calls = [
      () => parley.settings.get(),
      () => parley.conversations.create({}),
      () => parley.events('c').next(),
    ];
    for (const call of calls)
      await assert.rejects(call, (error) => {
        return (
          error instanceof ParleyError && error.code === 'unexpected' && error.message.includes('/there')
        );
      });
    assert.equal(requests, 0);
  });

  it('fails before anything is sent if it is invalid, and not as a network error', async () => {
    for (const url of ['127.0.0.1:3000', 'ftp://a.test', 'http://'])
      assert.throws(() => createParley({ url }), hasCode('invalid'));
    let sent = 0;
    const fetch = async () => {
      sent += 1;
      return new Response('{}');
    };
    const key = 'schlüssel-€\n';
    const parley = createParley({ url: 'http://a.test', key, fetch });
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    const calls = [
      () => parley.settings.get(),
      () => parley.conversations.create({}),
      () => parley.events('c').next(),
      () => createParley({ url: 'http://a.test', fetch }).settings.update(circle),
    ];
    for (const call of calls)
      await assert.rejects(call, (error: ParleyError) => {
        return hasCode('invalid')(error) && !error.isNetworkFault && !String(error.stack).includes(key);
      });
    assert.equal(sent, 0);
  });

  it('ends with the reason of its signal', async (t) => {
    const { parley } = await connect(t);
    const reason = new Error('enough');
    await assert.rejects(parley.settings.get({ signal: AbortSignal.abort(reason) }), reason);
  });
});

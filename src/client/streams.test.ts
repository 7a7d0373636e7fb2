// Streams of the client deliver everything once, whatever happens to the connection.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { connectThrough, hasCode, quick } from '../../test/support/client.ts';
import type { CutProxy } from '../../test/support/cutProxy.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import type { TestService } from '../../test/support/service.ts';
import { until } from '../../test/support/until.ts';
import {
  createOpenTexts,
  createParley,
  type Parley,
  type ParleyEvent,
  type ParleyOptions,
} from './parley.ts';

/** Reads in the background and collects what arrives. */
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

  /** Checks that each event arrived once and in order, from `first` to the end of the log. */
  async function assertWhole(service: TestService, events: readonly ParleyEvent[], first = 0): Promise<void> {
    const last = await lastId(service, 'c');
    await untilSeen(events, last);
    assert.deepEqual(
      ids(events),
      Array.from({ length: last + 1 - first }, (_, i) => first + i),
    );
  }

  it('come from the start of the log, then live, until the signal is aborted', async (t) => {
    const { service, parley } = await begin(t);
    const reading = collect(parley, 'c');
    await assertWhole(service, reading.events);
    await say(service, 'c', 3);
    await assertWhole(service, reading.events);
    reading.end();
    await reading.done;
    assert.deepEqual(reading.states, ['live']);
  });

  it('come with partials on request, which are taken back when the connection is lost', async (t) => {
    const partial = (from: number, text: string) =>
      `event: partial\ndata: ${JSON.stringify({ of: 'm', kind: 'message', from, text })}\n\n`;
    const event = (id: number) =>
      `id: ${id}\ndata: ${JSON.stringify({ id, action: 'message', args: {}, partial: { of: 'm', to: 3 } })}\n\n`;
    const bodies = [
      `${partial(0, 'a')}${partial(1, 'b')}`,
      `${partial(0, 'abc')}${event(0)}${partial(3, 'd')}`,
    ];
    const asked: string[] = [];
    const { url } = await listenOnLoopback(t, (request, response) => {
      asked.push(request.url ?? '');
      response.setHeader('content-type', 'text/event-stream').write(`id: -1\n\n${bodies.shift() ?? ''}`);
      // The first connection ends; the second stays open.
      if (bodies.length > 0) response.end();
    });
    const parley = createParley({ url, key: 'k', times: quick });
    const texts = createOpenTexts();
    const seen: string[] = [];
    for await (const one of parley.events('c', { partials: true })) {
      if (one.type === 'partial') texts.add(one);
      else texts.cover(one);
      seen.push(
        `${one.type} ${texts
          .list()
          .map(({ text }) => text)
          .join('')}`,
      );
      if (seen.length === 6) break;
    }
    assert.deepEqual(seen, [
      'partial a',
      'partial ab',
      'partial ',
      'partial abc',
      'action.message ',
      'partial d',
    ]);
    assert.ok(
      asked.every((path) => path.includes('partials=true')),
      asked.join(' '),
    );
  });

  it('begin at a given id, even one that does not exist yet', async (t) => {
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

  it('come once and in order even if the connection breaks often, and within events', async (t) => {
    const { service, proxy, parley } = await begin(t);
    await say(service, 'c', 20);
    // More than the headers take, so that each connection delivers something.
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

  it('resume after the service could not be reached for a while', async (t) => {
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

  it('wait longer before each reconnection that delivers nothing, whatever the service sends', async () => {
    const ending = new AbortController();
    let lost = 0;
    const onState = (state: string) => {
      if (state === 'reconnecting') lost += 1;
      if (lost === 3) ending.abort();
    };
    const headers = { 'content-type': 'text/event-stream' };
    const fetch = async () => new Response('retry: 0\nid: 4\n\n', { headers });
    const since = performance.now();
    const parley = createParley({ url: 'http://a.test', fetch });
    for await (const _ of parley.events('c', { signal: ending.signal, onState })) assert.fail();
    // At least half of 500 and of 1,000, less what timers round.
    assert.ok(performance.now() - since > 740);
  });

  it('reconnect if no data arrives for too long', async (t) => {
    const { service, proxy, parley } = await begin(t, { times: { ...quick, silenceMs: 200 } });
    const reading = collect(parley, 'c');
    await assertWhole(service, reading.events);
    proxy.silence(true);
    await until('it has given up', () => reading.states.includes('reconnecting'));
    await say(service, 'c', 2);
    proxy.silence(false);
    await assertWhole(service, reading.events);
    reading.end();
    await reading.done;
  });

  it('leave no connection open if their reader stops', async (t) => {
    const { service, parley } = await begin(t);
    for await (const event of parley.events('c')) if (event.id === 0) break;
    await until('nobody follows', async () => {
      return (await service.ask('/api/conversations/c')).body.num_connections === 0;
    });
  });

  it('throw if the conversation does not exist or is deleted, or the API key is revoked', async (t) => {
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

describe('a stream of the client', () => {
  /** A service that sends one text on each connection and closes it. The last connection stays open without data. */
  function scripted(texts: readonly string[], times: ParleyOptions['times'] = {}) {
    const requests: { after: string | null; signal: AbortSignal }[] = [];
    let say: (text: string) => void = () => {};
    const fetch = async (url: string, { signal }: RequestInit) => {
      assert.ok(signal);
      requests.push({ after: new URL(url).searchParams.get('after'), signal });
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          say = (text) => controller.enqueue(Buffer.from(text));
          signal.addEventListener('abort', () => controller.error(signal.reason));
          say(texts[requests.length - 1] ?? '');
          if (requests.length < texts.length) controller.close();
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    };
    const parley = createParley({ url: 'http://a.test', fetch, times: { ...quick, ...times } });
    return { parley, requests, say: (text: string) => say(text) };
  }

  const frame = (id: number) => `id: ${id}\ndata: {"id":${id}}\n\n`;
  const idOf = ({ value }: IteratorResult<ParleyEvent, void>) => value?.id;

  it('is live only after the service has sent its cursor', async () => {
    const { parley } = scripted(['', `id: -1\n\n${frame(0)}`]);
    const states: string[] = [];
    const events = parley.events('c', { onState: (state) => states.push(state) });
    assert.equal(idOf(await events.next()), 0);
    assert.deepEqual(states, ['reconnecting', 'live']);
    await events.return();
  });

  it('resumes after the last event if the service was restarted', async () => {
    const { parley, requests } = scripted([`id: -1\n\n${frame(0)}${frame(1)}`, `id: 1\n\n${frame(2)}`]);
    const events = parley.events('c');
    for (const id of [0, 1, 2]) assert.equal(idOf(await events.next()), id);
    assert.deepEqual(
      requests.map(({ after }) => after),
      ['-1', '1'],
    );
    await events.return();
  });

  it('throws if the log has become shorter', async () => {
    const { parley } = scripted([`id: -1\n\n${frame(0)}${frame(1)}`, `id: 0\n\n${frame(1)}`]);
    const events = parley.events('c');
    for (const id of [0, 1]) assert.equal(idOf(await events.next()), id);
    await assert.rejects(events.next(), (error: Error) => {
      return hasCode('unexpected')(error) && error.message.startsWith('The log is shorter');
    });
  });

  it('throws if it contains data that does not come from Parley', async () => {
    for (const data of ['no JSON', 'null', '5']) {
      const text = `id: 0\ndata: ${data}\n\n`;
      await assert.rejects(scripted([text]).parley.events('c').next(), hasCode('unexpected'));
      await assert.rejects(scripted([text]).parley.changes().next(), hasCode('unexpected'));
    }
  });

  it('does not time out while its reader is busy, and never without a timeout', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const silenceMs of [100, Number.POSITIVE_INFINITY]) {
      const { parley, requests, say } = scripted([`id: -1\n\n${frame(0)}`], { silenceMs });
      const events = parley.events('c');
      assert.equal(idOf(await events.next()), 0);
      if (silenceMs === 100) t.mock.timers.tick(200);
      const next = events.next();
      if (silenceMs !== 100) t.mock.timers.tick(2 ** 31);
      assert.equal(requests[0]?.signal.aborted, false);
      say(frame(1));
      assert.equal(idOf(await next), 1);
      assert.equal(requests.length, 1);
      await events.return();
    }
  });

  /** A complete log, as a page and as a stream. */
  function withLog(log: readonly object[]) {
    const all = log.map((event, id) => ({ id, source: 'agent', message: '', ...event }));
    const stream = (from: number) =>
      `id: ${from - 1}\n\n${all
        .map((event) => `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`)
        .slice(from)
        .join('')}`;
    const fetch = async (url: string, { signal }: RequestInit) => {
      signal?.throwIfAborted();
      const { pathname, searchParams } = new URL(url);
      if (!pathname.endsWith('/stream')) return Response.json({ events: all.toReversed(), has_more: false });
      const headers = { 'content-type': 'text/event-stream' };
      return new Response(stream(Number(searchParams.get('after')) + 1), { headers });
    };
    return createParley({ url: 'http://a.test', fetch, times: quick });
  }

  const state = (agent_state: string) => ({ observation: 'agent_state_changed', extras: { agent_state } });
  const said = { source: 'user', action: 'message' };

  it('is read until the agent waits: not where it waited before, but also from where no event shows the state', async () => {
    const parley = withLog([
      state('awaiting_user_input'),
      said,
      state('running'),
      state('awaiting_user_input'),
      { observation: 'notice' },
    ]);
    for (const from of [0, 3, 4, 5, 9]) {
      const received: number[] = [];
      const { name } = await parley.untilWaiting('c', { from, onEvent: ({ id }) => received.push(id) });
      assert.equal(name, 'awaiting_user_input');
      assert.deepEqual(received, [0, 1, 2, 3, 4].slice(from));
    }
    const request = { action: 'run', args: { confirmation_state: 'awaiting_confirmation' } };
    const waiting = state('awaiting_user_confirmation');
    const logs = [
      { log: [waiting, request], requestId: 1 },
      // Earlier versions wrote the action first.
      { log: [request, waiting], requestId: 0 },
    ];
    for (const { log, requestId } of logs)
      for (const from of [0, 1, 2]) {
        const found = await withLog(log).untilWaiting('c', { from });
        assert.deepEqual([found.name, found.question?.id], ['awaiting_user_confirmation', requestId]);
      }
    const paused = await withLog([said, state('running'), state('paused')]).untilWaiting('c');
    assert.equal(paused.name, 'paused');
    const signal = AbortSignal.abort('enough');
    await assert.rejects(parley.untilWaiting('c', { signal }), (reason) => reason === 'enough');
  });

  it('reports a reset, which is not a change', async () => {
    const { parley } = scripted([
      'id: 1.0.1\nevent: reset\ndata: {}\n\nid: 2.0.1\ndata: {"title":"New"}\n\n',
    ]);
    let resets = 0;
    const changes = parley.changes({ onReset: () => (resets += 1) });
    assert.deepEqual((await changes.next()).value, { title: 'New' });
    assert.equal(resets, 1);
    await changes.return();
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

  it('contain each change once, including those while the connection was lost', async (t) => {
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

// Several processes are one service: what is decided at one reaches the run and the caches of another, also without
// notifications, and a log is the same wherever it is read.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import { finishedTextOf, letAgentGo, openLiveStream, openTextOf } from '../../test/support/partials.ts';
import { startPostgresProxy } from '../../test/support/postgresProxy.ts';
import { createRunsClient, type RunsOptions, startRuns } from '../../test/support/runs.ts';
import { approvalRequest } from '../../test/support/runTalk.ts';
import { startService } from '../../test/support/service.ts';
import { type Frame, openStream, type Stream } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';

const env = { SESSION_API_KEY: 'the-same-key-everywhere', PARLEY_SECRET_KEY: '11'.repeat(32) };

interface TwoOptions extends RunsOptions {
  /** Cuts the connection on which the first process listens for notifications whenever it listens. */
  readonly deaf?: boolean;
}

/** Two machines with one database: the first runs agents, the second only answers requests. */
async function startTwo(t: TestContext, { deaf = false, ...options }: TwoOptions = {}) {
  const storage = await createStorage('postgres');
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-test-'));
  // Hooks run in the order of registration, and the services must be closed first.
  const early = {
    hooks: [] as (() => Promise<void>)[],
    after: (hook: () => Promise<void>) => early.hooks.push(hook),
  };
  t.after(async () => {
    for (const hook of early.hooks.reverse()) await hook();
    await storage.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });
  let attempts = 0;
  const proxy = await startPostgresProxy(storage.databaseUrl ?? '', early);
  if (deaf)
    proxy.rule(({ name, text }) => {
      if (name !== 'Query' || !text.startsWith('listen ')) return 'pass';
      attempts += 1;
      return 'cut';
    });
  const near = { ...storage, databaseUrl: proxy.url };
  const runs = await startRuns({ storage: near, env, ...options }, early);
  const other = await startService({ storage: { ...storage, dataDir }, env }, early);
  if (deaf) await until('the first process cannot listen', () => attempts > 0);
  return {
    ...runs,
    first: runs.service,
    second: other,
    atSecond: createRunsClient(other.ask),
    letGo: (id: string, name: string) => letAgentGo(storage, id, name),
  };
}

for (const deaf of [false, true]) {
  describe(`what another process has stored${deaf ? ', if notifications never arrive' : ''},`, () => {
    it('revokes an API key here: requests are refused, 401, and its streams end', async (t) => {
      const { first, second } = await startTwo(t, { deaf });
      const { body } = await second.ask('/api/keys', { json: { name: 'lost laptop' } });
      const { key, id } = body;
      assert.equal((await first.ask('/api/settings', { key })).status, 200);
      const stream = await openStream(first.url, '/api/events/stream', { key });
      assert.equal(stream.status, 200);
      assert.equal((await second.ask(`/api/keys/${id}`, { method: 'DELETE' })).status, 200);
      await until('it is refused', async () => (await first.ask('/api/settings', { key })).status === 401);
      await until('its stream has ended', () => stream.complete());
    });

    it('changes settings here', async (t) => {
      const { first, second } = await startTwo(t, { deaf });
      const language = async () => (await first.ask('/api/settings')).body.language;
      assert.notEqual(await language(), 'de');
      assert.equal((await second.ask('/api/settings', { json: { language: 'de' } })).status, 200);
      await until('the new value is shown', async () => (await language()) === 'de');
    });

    it('stops a run here', async (t) => {
      const { create, reaches, atSecond, first } = await startTwo(t, { deaf });
      const id = await create('print working\\n|@never');
      await reaches(id, 'RUNNING');
      const hasRun = async () => (await first.ask('/metrics')).text.includes('parley_runs 1');
      assert.ok(await hasRun());
      await atSecond.stop(id);
      await until('the run has ended', async () => !(await hasRun()));
    });

    it('answers an approval request of a run here, cancels its turn, and sends it a message', async (t) => {
      const runs = await startTwo(t, { deaf, settings: { confirmation_mode: true } });
      const { create, turns, atSecond, second, say } = runs;
      const id = await create('ask edit one');
      const { id: question } = await approvalRequest(runs, id, 1);
      const json = { decision: 'allow', question };
      assert.equal((await second.ask(`/api/conversations/${id}/confirm`, { json })).status, 200);
      assert.deepEqual(await turns(id, 1), ['the answer was once']);
      await atSecond.say(id, 'print working\\n|@never');
      await until('it works', async () => (await runs.info(id)).agent_state === 'running');
      await atSecond.cancel(id);
      await until('it waits', async () => (await runs.info(id)).agent_state === 'awaiting_user_input');
      await say(id, 'say done');
      assert.equal((await turns(id, 3)).at(-1), 'done');
    });
  });
}

const eventsOf = (streams: readonly Stream[]): Frame[] =>
  streams.flatMap((stream) => stream.frames()).filter(({ event }) => event !== 'partial');

describe('a conversation that is read at two processes', () => {
  it('has the same events and texts at both, also for a reader who moves between them', async (t) => {
    const { first, second, create, say, turns, letGo } = await startTwo(t);
    const id = await create('say ready');
    await turns(id, 1);
    const here = await openLiveStream(first, id);
    const there = await openLiveStream(second, id);
    const moves: Stream[] = [await openLiveStream(first, id)];
    const move = async ({ url, key }: { readonly url: string; readonly key: string }) => {
      const last = moves.at(-1) as Stream;
      last.cut();
      const lastEventId = last.lastId() ?? moves.at(-2)?.lastId() ?? '-1';
      const path = `/api/conversations/${id}/events/stream?partials=true`;
      moves.push(await openStream(url, path, { key, lastEventId }));
    };
    for (const [turn, service] of [second, first, second].entries()) {
      await say(id, `say a${turn}\nprint b${turn}|c${turn}\nchunks Hel|lo|@more${turn}| there|@end${turn}`);
      await until('the beginning is there', () => openTextOf(moves.at(-1) as Stream) === 'Hello');
      await move(service);
      for (const stream of [here, there, moves.at(-1) as Stream])
        await until('all have the beginning', () => openTextOf(stream) === 'Hello');
      await letGo(id, `more${turn}`);
      for (const stream of [here, there, moves.at(-1) as Stream])
        await until('all have the rest', () => openTextOf(stream) === 'Hello there');
      await letGo(id, `end${turn}`);
      await turns(id, turn + 2);
    }
    const stored = await createRunsClient(second.ask).events(id);
    const expected = stored.map((event) => [String(event.id), event]);
    for (const streams of [[here], [there], moves]) {
      const delivered = () => eventsOf(streams).map(({ id: number, data }) => [number, JSON.parse(data)]);
      await until('all events are there', () => delivered().length >= expected.length);
      assert.deepEqual(delivered(), expected);
    }
    for (const stream of [here, there]) {
      assert.equal(openTextOf(stream), '');
      assert.equal(finishedTextOf(stream), finishedTextOf(here));
    }
  });
});

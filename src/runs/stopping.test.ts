import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { databaseKinds } from '../../test/support/databases.ts';
import { inspect } from '../../test/support/inspect.ts';
import { filesOf, startRuns } from '../../test/support/runs.ts';
import { statesOf } from '../../test/support/runTalk.ts';
import { openStream } from '../../test/support/stream.ts';
import { until } from '../../test/support/until.ts';
import { defaultTimes } from '../conversations/sweep/service.ts';
import { isRunning, knownProcess } from '../sandbox/processes.ts';

/** Longer than two looks for room. */
const slowImageMs = 1_500;
const idleSoon = { sweep: { ...defaultTimes, idleMs: 500 } };
const crowdedAtOnce = { sweep: { ...defaultTimes, crowdedIdleMs: 0, crowdedWaitMs: 0 } };

for (const kind of databaseKinds) {
  describe(`a RUNNING conversation on ${kind}`, { concurrency: 2 }, () => {
    it('stops when its user stops it, during a turn and while it waits', async (t) => {
      const { service, create, reaches, stop, events } = await startRuns({ kind }, t);
      const ids = [await create('say begun\nhang'), await create()];
      for (const id of ids) {
        await reaches(id, 'RUNNING');
        const { agents } = await filesOf(service.storage, id);
        assert.deepEqual(agents().map(isRunning), [true]);
        await stop(id);
        assert.equal((await reaches(id, 'STOPPED')).stop_reason?.code, 'user');
        await until('its agent is dead', () => !agents().some(isRunning));
        assert.equal(statesOf(await events(id)).at(-1), 'stopped');
      }
    });

    it('completes the log of what was in progress when its user stopped it', async (t) => {
      const { create, stop, events } = await startRuns({ kind }, t);
      const id = await create('say I begin\nrun-forever make\nspell and then');
      await until('the call is told', async () => (await events(id)).some(({ action }) => action === 'run'));
      await stop(id);
      const all = await until('the call is closed', async () => {
        const now = await events(id);
        return now.some(({ extras }) => extras?.['outcome'] === 'unfinished') && now;
      });
      assert.ok(all.some(({ extras }) => extras?.['agent_state'] === 'stopped'));
    });

    it('is killed with all its processes if its agent ignores the stop', async (t) => {
      const { service, create, turns, say, stop } = await startRuns({ kind }, t);
      const id = await create('spawn-child');
      await turns(id, 1);
      await say(id, 'ignore-cancel');
      const { agents, home } = await filesOf(service.storage, id);
      const child = knownProcess(Number(readFileSync(join(home, 'child.pid'), 'utf8')));
      const all = [child, ...agents()];
      assert.deepEqual(all.map(isRunning), [true, true]);
      await stop(id);
      await until('all are dead', () => !all.some(isRunning));
    });

    it('stops as finished when nobody follows it, and a message resumes the same session', async (t) => {
      const times = { sweep: { ...defaultTimes, unattendedMs: 2_500 } };
      const { service, create, turns, reaches, say, info } = await startRuns({ kind, times }, t);
      const followed = await create();
      const stream = await openStream(service.url, `/api/conversations/${followed}/events/stream`, service);
      t.after(() => stream.cut());
      const stored = `select followed_at from conversations where id = '${followed}'`;
      await until(
        'it counts as followed',
        async () => (await inspect(service.storage, stored))[0]?.['followed_at'] != null,
      );
      await say(followed, 'say one');
      await turns(followed, 1);
      const left = await create('say two');
      assert.equal((await reaches(left, 'STOPPED')).stop_reason?.code, 'finished');
      await say(left, 'say three');
      assert.deepEqual(await turns(left, 2), ['two', 'three']);
      assert.equal((await info(followed)).status, 'RUNNING');
    });

    for (const [line, sentence] of [
      ['crash', /exit code 1/],
      ['kill-self', /SIGKILL/],
    ] as const)
      it(`stops with the last output of its agent if that dies: ${line}`, async (t) => {
        const { create, reaches, events } = await startRuns({ kind }, t);
        const id = await create(`say begun\nstderr these were my last words\n${line}`);
        const { stop_reason: reason } = await reaches(id, 'STOPPED');
        assert.equal(reason?.code, 'agent_error');
        assert.match(reason.message, sentence);
        const all = await events(id);
        assert.match(all.at(-2)?.message ?? '', /these were my last words/);
        assert.ok(
          all.some(({ args }) => args?.['content'] === 'begun'),
          'what it said before is kept',
        );
      });

    it('stops if nothing happens for long, during a turn or not, and its agent is dead', async (t) => {
      const { service, create, reaches } = await startRuns({ kind, times: idleSoon }, t);
      const ids = [await create(), await create('ignore-cancel')];
      for (const id of ids) {
        assert.equal((await reaches(id, 'STOPPED')).stop_reason?.code, 'idle');
        const { agents } = await filesOf(service.storage, id);
        await until('its agent is dead', () => !agents().some(isRunning));
      }
    });

    it('makes room for others of its user if it waits for a message, not if it works', async (t) => {
      const { create, reaches, info, turns } = await startRuns({ kind, env: { PARLEY_SLOTS: '2' } }, t);
      const working = await create('hang');
      await reaches(working, 'RUNNING');
      const idle = await create('say done');
      await turns(idle, 1);
      const next = await create('say next');
      assert.deepEqual(await turns(next, 1), ['next']);
      assert.equal((await info(idle)).stop_reason?.code, 'idle');
      assert.equal((await info(working)).status, 'RUNNING');
    });

    it('makes room for a message if no running one got any', async (t) => {
      const env = { PARLEY_RUNNING_MAX: '2' };
      const { create, reaches, turns } = await startRuns({ kind, env }, t);
      const empty = [await create(), await create(), await create()];
      const last = await create('say at last');
      assert.deepEqual(await turns(last, 1), ['at last']);
      // Two places for four: those that were idle longest made room.
      for (const id of empty.slice(0, 2))
        assert.match((await reaches(id, 'STOPPED')).stop_reason?.message ?? '', /others waited/);
      await reaches(empty[2] ?? '', 'RUNNING');
    });

    it('answers its message before it makes room, however long its images take', async (t) => {
      const server = createServer((_, response) =>
        setTimeout(() => response.writeHead(404).end(), slowImageMs),
      );
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      t.after(() => void server.close());
      const image_urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`];
      const env = { PARLEY_SLOTS: '1' };
      const { create, turns, events } = await startRuns({ kind, times: crowdedAtOnce, env }, t);
      const ids = [await create('say one', { image_urls }), await create('say two', { image_urls })];
      for (const [i, id] of ids.entries()) {
        assert.deepEqual(await turns(id, 1), [['one', 'two'][i]]);
        const states = statesOf(await events(id));
        assert.equal(states.filter((state) => state === 'loading').length, 1, 'it was started once');
      }
    });

    it('is gone with its agent and its folders when it is deleted', async (t) => {
      const times = { worker: { retentionMs: 50 } };
      const { service, create, reaches } = await startRuns({ kind, times }, t);
      const id = await create('hang');
      await reaches(id, 'RUNNING');
      const { root, agents } = await filesOf(service.storage, id);
      const all = agents();
      assert.deepEqual(all.map(isRunning), [true]);
      const { status } = await service.ask(`/api/conversations/${id}`, { method: 'DELETE' });
      assert.equal(status, 200);
      await until('its agent is dead', () => !all.some(isRunning));
      await until('its folders are gone', () => !existsSync(root));
    });
  });
}

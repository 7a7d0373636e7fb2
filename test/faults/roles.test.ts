import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pg from 'pg';
import { isRunning } from '../../src/sandbox/processes.ts';
import { withPostgres } from '../support/databases.ts';
import { createSite } from '../support/process.ts';
import { mainFile } from '../support/program.ts';
import { filesOf } from '../support/runs.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';
import { createWorkerSite } from '../support/workers.ts';

type Test = Parameters<typeof createSite>[1];

/** Rings of all processes that connect later are lost: the function that rings is another one. */
async function silence(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await withPostgres(url, (client) =>
    client.query(`
      create function public.pg_notify(text, text) returns void language sql as '';
      alter database ${name} set search_path = public, pg_catalog;`),
  );
}

/** Counts the rings of a database. */
async function hearRings(url: string, t: Test): Promise<() => number> {
  const client = new pg.Client({ connectionString: url });
  // The database is removed before this.
  client.on('error', () => {});
  await client.connect();
  t.after(() => client.end());
  let count = 0;
  client.on('notification', () => count++);
  await client.query('listen parley');
  return () => count;
}

for (const rings of [true, false])
  describe(`a process for requests and one for runs, ${rings ? 'with' : 'without'} a bell`, {
    timeout: 240_000,
  }, () => {
    it('share conversations: created, told and stopped in the one, run in the other', async (t) => {
      const { site, serve } = await createWorkerSite('postgres', t, mainFile);
      const url = site.storage.databaseUrl ?? '';
      if (!rings) await silence(url);
      const countRings = await hearRings(url, t);
      const api = await serve({ PARLEY_ROLE: 'api' });
      await api.set({ agent: 'fake' });
      const early = await api.create('say early');
      const worker = await serve({ PARLEY_ROLE: 'worker' });
      assert.deepEqual(await api.turns(early, 1), ['early']);
      assert.equal((await fetch(`${worker.url}/ready`)).status, 200);
      const headers = { 'x-session-api-key': worker.key };
      assert.equal((await fetch(`${worker.url}/api/conversations`, { headers })).status, 404);

      const id = await api.create('say hello');
      const stream = await openStream(api.url, `/api/conversations/${id}/events/stream`, api);
      assert.deepEqual(await api.turns(id, 1), ['hello']);
      await api.say(id, 'say more');
      await until('the stream tells it', () => stream.frames().some(({ data }) => data.includes('"more"')));
      assert.deepEqual(
        stream.frames().map(({ data }) => JSON.parse(data).id),
        stream.frames().map((_, i) => i),
      );

      await api.say(id, 'hang');
      const { agents } = await filesOf(site.storage, id);
      assert.deepEqual(agents().map(isRunning), [true]);
      await api.stop(id);
      await until('its agent is dead', () => !agents().some(isRunning));
      stream.cut();
      assert.equal(countRings() > 0, rings);
    });
  });

describe('PARLEY_ROLE', { timeout: 240_000 }, () => {
  it('api runs nothing', async (t) => {
    const { site, serve } = await createWorkerSite('sqlite', t);
    const api = await serve({ PARLEY_ROLE: 'api' });
    await api.set({ agent: 'fake' });
    const id = await api.create('say hello');
    api.send('SIGTERM');
    await api.ended();
    const all = await serve();
    assert.deepEqual(await all.turns(id, 1), ['hello']);
    const { agents } = await filesOf(site.storage, id);
    assert.equal(agents().length, 1);
  });

  it('worker is refused without DATABASE_URL, exit code 2', async (t) => {
    const site = await createSite('sqlite', t);
    const { code, stderr, stdout } = await site.run(['serve'], { env: { PARLEY_ROLE: 'worker' } });
    assert.equal(code, 2);
    assert.match(stderr, /^parley: PARLEY_ROLE=worker needs DATABASE_URL[^\n]+\n$/);
    assert.equal(stdout, '');
  });
});

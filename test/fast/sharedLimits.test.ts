// Limits of a service that consists of several processes on one PostgreSQL: each enforces its share.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../support/databases.ts';
import { startService, type TestService } from '../support/service.ts';
import { openStream } from '../support/stream.ts';
import { until } from '../support/until.ts';

async function startCluster(t: TestContext, env: Record<string, string>) {
  const storage = await createStorage('postgres');
  const start = () => startService({ storage, env });
  const first = await start();
  const second = await start();
  const running = new Set([first, second]);
  t.after(async () => {
    for (const service of running) await service.stop();
    await storage.remove();
  });
  const stop = (service: TestService) => running.delete(service) && service.stop();
  return { first, second, stop };
}

/** A key without earlier requests, so that its limits are untouched. */
async function freshKey(service: TestService): Promise<string> {
  const { body } = await service.ask('/api/keys', { json: { name: 'fresh' } });
  return body.key;
}

/** How many of five creations with this key are accepted. */
async function countAccepted(service: TestService, key: string): Promise<number> {
  const create = () => service.ask('/api/conversations', { json: {}, key });
  const answers = await Promise.all(Array.from({ length: 5 }, create));
  return answers.filter(({ status }) => status === 200).length;
}

describe('the limits of two processes on one PostgreSQL', () => {
  // A token takes at least 30 s, so that none is added during the test.
  const env = { PARLEY_CREATE_LIMIT: '2' };

  it('are divided between them, and belong to the other as soon as one stops', async (t) => {
    const { first, second, stop } = await startCluster(t, env);
    await until('the first process enforces its share', async () => {
      return (await countAccepted(first, await freshKey(first))) === 1;
    });
    const key = await freshKey(first);
    const accepted = [await countAccepted(first, key), await countAccepted(second, key)];
    assert.deepEqual(accepted, [1, 1]);
    await stop(second);
    await until('the whole limit is that of the first process', async () => {
      return (await countAccepted(first, await freshKey(first))) === 2;
    });
  });

  it('count streams of a user at each process, but not below a minimum', async (t) => {
    const { first, second } = await startCluster(t, { ...env, PARLEY_STREAMS_MAX: '24' });
    await until('the first process enforces its share', async () => {
      return (await countAccepted(first, await freshKey(first))) === 1;
    });
    for (const service of [first, second]) {
      const { key } = service;
      const open = () => openStream(service.url, '/api/events/stream', { key });
      const streams = await Promise.all(Array.from({ length: 14 }, open));
      t.after(() => {
        for (const stream of streams) stream.cut();
      });
      assert.equal(streams.filter(({ status }) => status === 200).length, 12);
      assert.equal(streams.filter(({ status }) => status === 429).length, 2);
    }
  });
});

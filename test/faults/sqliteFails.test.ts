import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { turnOff, turnOn } from '../support/faults.ts';
import { storedConversations } from '../support/inspect.ts';
import { createSite, type Service, type Site } from '../support/process.ts';
import type { Answer } from '../support/service.ts';
import { until, watch } from '../support/until.ts';

/** After this long a failed write no longer stands for others: the next probe writes. */
const trialMs = 1_100;
/** Larger than the free room of any page. */
const message = 'words '.repeat(20_000);

function create(service: Service, id: string): Promise<Answer> {
  return service.ask('/api/conversations', { json: { conversation_id: id, initial_user_msg: message } });
}

function assertUnavailable({ status, headers, text, body }: Answer): void {
  assert.equal(status, 503, text);
  assert.equal(body.code, 'database_unavailable');
  assert.match(headers.get('retry-after') ?? '', /^\d+$/);
}

async function storedIds({ storage }: Site): Promise<string[]> {
  return (await storedConversations(storage)).map(({ id }) => id).toSorted();
}

const faults = {
  'commit-fails': 'whose commits fail for want of room',
  'write-fails': 'on a disk that breaks',
  'disk-full': 'that may not grow',
  'read-only': 'that may not be written',
} as const;

// At once, because some of them wait for time-outs.
describe('a service on SQLite', { timeout: 240_000, concurrency: 3 }, () => {
  for (const fault of Object.keys(faults) as (keyof typeof faults)[]) {
    describe(`a SQLite database ${faults[fault]}`, () => {
      it('stores nothing, 503, still reads, and works again when the fault is gone', async (t) => {
        const site = await createSite('sqlite', t);
        const service = await site.serve({ faults: true });
        assert.equal((await create(service, 'before')).status, 200);
        turnOn(site, fault);
        assertUnavailable(await create(service, 'one'));
        const together = ['one', 'two', 'three', 'four', 'five'].map((id) => create(service, id));
        for (const answer of await Promise.all(together)) assertUnavailable(answer);
        assert.equal((await service.ask('/api/settings')).status, 200);
        assertUnavailable(await service.ask('/ready'));
        for (const path of ['/alive', '/health']) assert.equal((await service.ask(path)).status, 200);
        assert.deepEqual(await storedIds(site), ['before']);

        turnOff(site, fault);
        assert.equal((await create(service, 'one')).status, 200);
        assert.equal((await create(service, 'two')).status, 200);
        assert.equal((await service.ask('/ready')).status, 200);
        assert.deepEqual(await storedIds(site), ['before', 'one', 'two']);
      });
    });
  }

  describe('a SQLite database that cannot grow, to which nobody writes', () => {
    it('makes the service not ready, 503, until it can grow again', async (t) => {
      const site = await createSite('sqlite', t);
      const service = await site.serve({ faults: true });
      assert.equal((await service.ask('/ready')).status, 200);
      turnOn(site, 'disk-full');
      // What is free inside the file is used up first.
      const fill = () => service.ask('/api/conversations', { json: { initial_user_msg: 'x'.repeat(4_000) } });
      for (let i = 0; (await fill()).status === 200; i++) assert.ok(i < 200);
      for (let i = 0; i < 3; i++) {
        await wait(trialMs);
        assertUnavailable(await service.ask('/ready'));
      }
      turnOff(site, 'disk-full');
      await until('it is ready', async () => (await service.ask('/ready')).status === 200);
    });
  });

  describe('a SQLite database that another program holds locked', () => {
    it('is given up on after a while, 503, and works again when it is let go', async (t) => {
      const site = await createSite('sqlite', t);
      const service = await site.serve();
      const other = new DatabaseSync(join(site.storage.dataDir, 'parley.db'));
      t.after(() => other.close());
      other.exec('begin immediate');
      const answer = watch(create(service, 'waiting'));
      assert.equal((await service.ask('/api/settings')).status, 200);
      assertUnavailable(await answer.promise);
      other.exec('commit');
      assert.equal((await create(service, 'waiting')).status, 200);
      assert.deepEqual(await storedIds(site), ['waiting']);
    });
  });

  describe('a thread for SQLite that ends', () => {
    it('answers 503 and ends the service with exit code 1, and the next start works', async (t) => {
      const site = await createSite('sqlite', t);
      const service = await site.serve({ faults: true });
      turnOn(site, 'thread-ends');
      // The thread had it, and nobody knows how far it came.
      const answer = await create(service, 'lost');
      assert.deepEqual([answer.status, answer.body.code], [503, 'outcome_unknown']);
      const { code, stderr } = await service.ended();
      assert.equal(code, 1, stderr);
      assert.match(stderr, /"msg":"the database failed; stopping"/);
      assert.match(stderr, /"msg":"stopped"/);
      turnOff(site, 'thread-ends');
      const next = await site.serve({ faults: true });
      assert.equal((await create(next, 'lost')).status, 200);
      assert.deepEqual(await storedIds(site), ['lost']);
    });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { databaseKinds } from '../support/databases.ts';
import { holdCommits } from '../support/faults.ts';
import { storedTitles } from '../support/inspect.ts';
import { createSite, type Service } from '../support/process.ts';
import { watch } from '../support/until.ts';

/** How long the absence of an answer is watched. An answer that did not wait would come in milliseconds. */
const silenceMs = 500;

function create(service: Service, title: string) {
  const json = { initial_user_msg: title, conversation_id: title };
  return service.ask('/api/conversations', { json });
}

for (const kind of databaseKinds) {
  describe(`a commit on ${kind} that does not end`, { timeout: 240_000 }, () => {
    it('holds back the answer alone, which follows with 200', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve({ faults: kind === 'sqlite' });
      const held = await holdCommits(site, t);
      const answer = watch(create(service, 'held'));
      await held.reached();
      await wait(silenceMs);
      assert.equal((await service.ask('/alive')).status, 200);
      assert.equal((await service.ask('/api/settings')).status, 200);
      assert.deepEqual(await storedTitles(site.storage), []);
      assert.equal(answer.settled(), false);

      await held.release();
      const { status, body } = await answer.promise;
      assert.equal(status, 200);
      assert.equal(body.conversation_id, 'held');
      assert.deepEqual(await storedTitles(site.storage), ['held']);
    });

    it('is followed by one conversation after a kill and a retry, 200', async (t) => {
      const site = await createSite(kind, t);
      const service = await site.serve({ faults: kind === 'sqlite' });
      const held = await holdCommits(site, t);
      const answer = watch(create(service, 'killed'));
      await held.reached();
      service.send('SIGKILL');
      await service.ended();
      await assert.rejects(answer.promise);
      assert.deepEqual(await storedTitles(site.storage), []);

      await held.release();
      const next = await site.serve();
      // PostgreSQL may still carry out a commit that it was sent; SQLite has forgotten it.
      if (kind === 'sqlite') assert.deepEqual(await storedTitles(site.storage), []);
      const { status, body } = await create(next, 'killed');
      assert.equal(status, 200);
      assert.equal(body.conversation_id, 'killed');
      assert.deepEqual(await storedTitles(site.storage), ['killed']);
    });
  });
}

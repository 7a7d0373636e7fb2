import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { databaseKinds } from '../support/databases.ts';
import { countRows, inspect } from '../support/inspect.ts';
import { createSite } from '../support/process.ts';
import { until } from '../support/until.ts';

const conversations = 4;
const messages = 3_000;
const kills = 3;
const waitMs = 90_000;
/** Each message, and each title. */
const expected = conversations * (messages + 1);

const replay = JSON.stringify(
  Array.from({ length: messages }, (_, i) => ({
    source: 'user',
    action: 'message',
    args: { content: `message number n${i}` },
  })),
);

for (const kind of databaseKinds)
  describe(`the search index on ${kind}, whose process is killed`, { timeout: 10 * 60_000 }, () => {
    it('goes on where it was, and has everything once', async (t) => {
      const site = await createSite(kind, t);
      const env = { PARLEY_ROLE: 'api' };
      let service = await site.serve({ env });
      for (let i = 0; i < conversations; i++) {
        const json = { conversation_id: `c${i}`, replay_json: replay };
        const { status, text } = await service.ask('/api/conversations', { json });
        assert.equal(status, 200, text);
      }
      for (let kill = 1; kill <= kills; kill++) {
        const enough = (expected / (kills + 2)) * kill;
        const rows = () => countRows(site.storage, 'search_documents');
        await until('a part of the index', async () => (await rows()) >= enough, waitMs);
        service.send('SIGKILL');
        await service.ended();
        // Another process takes over when the lease ends: at once here, so that the test need not wait.
        if (kind === 'postgres')
          await inspect(
            site.storage,
            `update facts set value = '{"owner":"killed","until":1}' where name = 'search-claim'`,
          );
        service = await site.serve({ env });
      }
      await until(
        'the whole index',
        async () => (await countRows(site.storage, 'search_documents')) >= expected,
        waitMs,
      );
      assert.equal(await countRows(site.storage, 'search_documents'), expected);
      for (const number of [0, 1_499, messages - 1]) {
        const { body } = await service.ask(`/api/search?q=n${number}`);
        const found = body.results.map((result: { matches: unknown[] }) => result.matches.length);
        assert.deepEqual(found, Array(conversations).fill(1), `n${number}`);
      }
    });
  });

// `parley doctor`, the start and `parley snapshots accept-store` on a snapshot store that was replaced.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createCommandLine } from '../support/commandLine.ts';
import { createStorage, databaseKinds } from '../support/databases.ts';
import { findings } from '../support/doctor.ts';
import { inspect } from '../support/inspect.ts';
import { startService } from '../support/service.ts';
import { temporaryFolder } from '../support/snapshots.ts';
import { until } from '../support/until.ts';

for (const kind of databaseKinds)
  describe(`a snapshot store that was replaced by an empty one, on ${kind}`, () => {
    it('is reported by the start, the metric and the doctor, stays as it is, and can be accepted', async (t) => {
      const storage = await createStorage(kind);
      const store = temporaryFolder(t);
      const env = { PARLEY_SNAPSHOTS: store };
      const first = await startService({ storage, env });
      await first.ask('/api/settings', { json: { llm_model: 'ollama/x' } });
      await first.stop();
      await inspect(
        storage,
        `insert into snapshots (id, conversation_key, user_id, conversation_id, sealed, blob, taken_at, heard, created_at)
         select '${'ab'.repeat(16)}', 1, id, 'c', 'v1.x.y', '${'cd'.repeat(16)}', 1, 1, 0 from users`,
      );
      const empty = temporaryFolder(t);
      const service = await startService({ storage, env: { PARLEY_SNAPSHOTS: empty } }, t);
      t.after(() => storage.remove());
      assert.match(
        service.logs(),
        /"level":"warn".*cannot be used: the snapshots of this service are not there/,
      );
      const up = async () =>
        (await service.ask('/metrics')).text.match(/^parley_snapshot_store_up (.*)$/m)?.[1];
      await until('the metric', async () => (await up()) === '0');
      const run = (words: string[], PARLEY_SNAPSHOTS: string) =>
        createCommandLine(service, t, {
          PARLEY_SNAPSHOTS,
          ...(storage.databaseUrl !== undefined && { DATABASE_URL: storage.databaseUrl }),
        }).run(words);
      const found = findings(await run(['doctor', '--json'], empty)).get('snapshots');
      assert.equal(found?.state, 'wrong');
      assert.match(String(found?.remedy), /Mount the right file system.*parley snapshots accept-store/);
      assert.equal(findings(await run(['doctor', '--json'], store)).get('snapshots')?.state, 'ok');
      assert.deepEqual(readdirSync(empty), []);

      assert.equal((await run(['snapshots', 'accept-store'], empty)).code, 0);
      assert.equal(findings(await run(['doctor', '--json'], empty)).get('snapshots')?.state, 'ok');
      const audit = await inspect(
        storage,
        "select subject from audit where action = 'snapshot-store.accept'",
      );
      assert.deepEqual(
        audit.map(({ subject }) => subject),
        [empty],
      );
      await until('the service uses it', async () => (await up()) === '1', 30_000);
    });
  });

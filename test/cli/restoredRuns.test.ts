// A conversation that ran while a backup was made does not go on by itself after a restore, and can be resumed with its
// files and its session.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { hold, isHeld, letGo } from '../fakeAgent/holds.ts';
import { createCommandLine } from '../support/commandLine.ts';
import { createStorage, databaseKinds } from '../support/databases.ts';
import { inspect } from '../support/inspect.ts';
import { filesOf, startRuns } from '../support/runs.ts';
import { until } from '../support/until.ts';

for (const kind of databaseKinds) {
  describe(`a restored conversation on ${kind}`, { timeout: 300_000 }, () => {
    it('is stopped if it was running, and goes on with its workspace when it gets a message', async (t) => {
      const runs = await startRuns({ kind }, t);
      const id = await runs.create('remember the milk\nsay noted');
      await runs.turns(id, 1);
      const { root, home } = await filesOf(runs.service.storage, id);
      writeFileSync(join(root, 'workspace/kept.txt'), 'kept');
      hold(home, 'prompt');
      await runs.say(id, 'say never');
      await until('the agent works', () => isHeld(home, 'prompt'));
      const waiting = await runs.create('say later', { agent: 'slow' });

      const storage = await createStorage(kind, { migrated: false });
      t.after(() => storage.remove());
      const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const file = join(folder, 'backup');
      const made = createCommandLine(runs.service, t, {
        ...(runs.service.storage.databaseUrl === undefined
          ? {}
          : { DATABASE_URL: runs.service.storage.databaseUrl }),
      });
      const backup = await made.run(['backup', file, '--keys']);
      assert.equal(backup.code, 0, backup.stderr);
      // The service that was backed up is still alive, and its agent goes on; the copy must not.
      const restored = await createCommandLine({ url: '', storage }, t, {
        PARLEY_URL: '',
        ...(storage.databaseUrl === undefined ? {} : { DATABASE_URL: storage.databaseUrl }),
      }).run(['restore', file]);
      assert.equal(restored.code, 0, restored.stderr);
      const rows = await inspect(
        storage,
        'select id, status, run_id, lease_until, stop_code from conversations',
      );
      for (const row of rows)
        assert.deepEqual(
          { ...row, id: null },
          { id: null, status: 'STOPPED', run_id: null, lease_until: null, stop_code: 'shutdown' },
        );
      assert.deepEqual(new Set(rows.map((row) => row['id'])), new Set([id, waiting]));

      const copy = await startRuns({ storage }, t);
      const { home: copiedHome, root: copiedRoot } = await filesOf(storage, id);
      assert.notEqual(copiedHome, home);
      assert.equal(readFileSync(join(copiedRoot, 'workspace/kept.txt'), 'utf8'), 'kept');
      // The file that holds the agent was in the backup, too.
      letGo(copiedHome, 'prompt');
      const events = await copy.events(id);
      assert.ok(
        events.some(({ message }) => /interrupted/i.test(message)),
        'the log names the interruption',
      );
      assert.match(JSON.stringify(events.at(-1)?.extras), /restored from a backup/);
      await copy.say(id, 'recall');
      await until('it answers', async () =>
        (await copy.events(id)).some(({ args }) => String(args?.['content']).endsWith('I remember the milk')),
      );
      letGo(home, 'prompt');
      await runs.turns(id, 2);
    });
  });
}

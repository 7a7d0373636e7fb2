// In a container every process has the same id: what a killed one has left does not stop the next.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { writeBackup } from '../../test/support/backupArchives.ts';
import { createStorage, databaseKinds } from '../../test/support/databases.ts';
import { readConfig } from '../config.ts';
import { lockDataDir, lockRestore } from '../db/folderLocks.ts';
import { createBackup } from './create.ts';
import { partialNameOf } from './partialFiles.ts';
import { restoreBackup } from './restore.ts';

function createDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

for (const kind of databaseKinds)
  describe(`a process with the id of a killed one, on ${kind}`, () => {
    it('restores and backs up, and removes what the killed one has left', async (t) => {
      const { dataDir, databaseUrl, remove } = await createStorage(kind, { migrated: false });
      t.after(remove);
      const folder = createDir(t);
      const [restored, file] = [join(folder, 'restored'), join(folder, 'backup')];
      writeBackup(restored, {});
      const places = readConfig({
        PARLEY_DATA_DIR: dataDir,
        ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      });
      const options = { places, file: restored, passphrase: undefined, holdDeliveries: false };
      for (const name of [`restoring-${process.pid}`, 'restoring-0123456789abcdef'])
        mkdirSync(join(dataDir, name, 'conversations'), { recursive: true });

      const unlock = kind === 'sqlite' ? lockDataDir(dataDir) : lockRestore(dataDir);
      await assert.rejects(restoreBackup({ ...options, replace: false }), /Another/);
      unlock();
      await restoreBackup({ ...options, replace: false });
      assert.deepEqual(
        readdirSync(dataDir).filter((name) => name.startsWith('restoring')),
        [],
      );

      const lefts = [`${file}.${process.pid}.partial`, partialNameOf(file), partialNameOf(`${file}-other`)];
      for (const left of lefts) writeFileSync(left, 'half of it');
      const contents = { workspaces: true, snapshots: false, keys: false };
      await createBackup({ ...contents, places, to: file, passphrase: undefined });
      assert.deepEqual(
        readdirSync(folder)
          .map((name) => name.replace(/\.\d+-.*/, ''))
          .sort(),
        ['backup', 'backup-other', 'restored'],
      );
    });
  });

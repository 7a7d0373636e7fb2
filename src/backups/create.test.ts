// Backups that do not fit, and those with snapshots.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { mountTmpfs, noTmpfs } from '../../test/support/tmpfs.ts';
import { readConfig } from '../config.ts';
import { openConfiguredDatabase } from '../database.ts';
import { RefusalError } from '../errors.ts';
import { createBackup } from './create.ts';
import { restoreBackup } from './restore.ts';

function createDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function createDatabase(dataDir: string): Promise<void> {
  const fail = (error: Error) => {
    throw error;
  };
  await (await openConfiguredDatabase({ dataDir, databaseUrl: undefined }, fail)).close();
}

function backUp(env: Record<string, string>, to: string, snapshots = false) {
  const places = readConfig(env);
  return createBackup({ places, to, workspaces: true, snapshots, keys: false, passphrase: undefined });
}

describe('a backup', () => {
  it('does not fill the disk of the service', { skip: noTmpfs }, async (t) => {
    const disk = mountTmpfs(1_000, '64m');
    t.after(disk.remove);
    const [dataDir, folder] = [join(disk.folder, 'data'), join(disk.folder, 'backups')];
    mkdirSync(folder);
    await createDatabase(dataDir);
    await assert.rejects(backUp({ PARLEY_DATA_DIR: dataDir }, join(folder, 'backup')), (error: Error) => {
      assert.ok(error instanceof RefusalError);
      assert.match(error.message, /has less than 512 MiB left/);
      return true;
    });
    assert.deepEqual(readdirSync(folder), []);
  });

  it('leaves nothing on another disk that is full', { skip: noTmpfs }, async (t) => {
    const disk = mountTmpfs(1_000, '1m');
    t.after(disk.remove);
    const dataDir = createDir(t);
    await createDatabase(dataDir);
    mkdirSync(join(dataDir, 'conversations/1'), { recursive: true });
    writeFileSync(join(dataDir, 'conversations/1/random'), randomBytes(5_000_000));
    await assert.rejects(
      backUp({ PARLEY_DATA_DIR: dataDir }, join(disk.folder, 'backup')),
      (error: Error) => {
        assert.ok(error instanceof RefusalError, String(error.stack));
        assert.equal(error.message, 'The backup cannot be written: ENOSPC.');
        return true;
      },
    );
    assert.deepEqual(readdirSync(disk.folder), []);
  });

  it('has the snapshots of a folder by choice, and a restore keeps blobs that are there', async (t) => {
    const [dataDir, store, to, otherStore] = [createDir(t), createDir(t), createDir(t), createDir(t)];
    await createDatabase(dataDir);
    mkdirSync(join(store, 'abc'));
    writeFileSync(join(store, 'abc/1'), 'first');
    writeFileSync(join(store, 'abc/2'), 'second');
    const file = join(createDir(t), 'backup');
    await assert.rejects(backUp({ PARLEY_DATA_DIR: dataDir }, file, true), /There is no folder of snapshots/);
    await backUp({ PARLEY_DATA_DIR: dataDir, PARLEY_SNAPSHOTS: store }, file, true);
    const restore = (env: Record<string, string>) =>
      restoreBackup({
        ...{ places: readConfig(env), file, passphrase: undefined, replace: false, holdDeliveries: false },
      });
    await assert.rejects(restore({ PARLEY_DATA_DIR: to }), /Set PARLEY_SNAPSHOTS/);
    mkdirSync(join(otherStore, 'abc'));
    writeFileSync(join(otherStore, 'abc/1'), 'there');
    await restore({ PARLEY_DATA_DIR: to, PARLEY_SNAPSHOTS: otherStore });
    assert.deepEqual(readdirSync(join(otherStore, 'abc')).sort(), ['1', '2']);
    assert.equal(readFileSync(join(otherStore, 'abc/1'), 'utf8'), 'there');
    assert.equal(readFileSync(join(otherStore, 'abc/2'), 'utf8'), 'second');
    assert.ok(!readdirSync(to).some((name) => name.startsWith('restoring')));
  });
});

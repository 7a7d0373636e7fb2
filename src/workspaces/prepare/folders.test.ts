import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createFolders } from './folders.ts';

const name = { userId: 1, id: 'a' };

function setUp(t: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-folders-'));
  t.after(() => rmSync(dataDir, { recursive: true, force: true }));
  return { dataDir, folders: createFolders(dataDir) };
}

describe('the folders of a conversation', () => {
  it('are accessible only to their owner, even if they existed before', async (t) => {
    const { folders } = setUp(t);
    const { root, workspace, home } = await folders.open(7, name);
    chmodSync(workspace, 0o777);
    await folders.open(7, name);
    for (const path of [root, workspace, home]) assert.equal(statSync(path).mode & 0o777, 0o700, path);
    assert.deepEqual(await folders.list(), [7]);
  });

  it('are never links', async (t) => {
    const { folders, dataDir } = setUp(t);
    const { workspace } = await folders.open(7, name);
    rmSync(workspace, { recursive: true });
    symlinkSync(dataDir, workspace);
    chmodSync(dataDir, 0o755);
    await assert.rejects(folders.open(7, name));
    assert.equal(statSync(dataDir).mode & 0o777, 0o755);
  });

  it('are removed with their contents, but not with what links point to', async (t) => {
    const { folders, dataDir } = setUp(t);
    const { workspace, root } = await folders.open(7, name);
    const kept = join(dataDir, 'kept');
    mkdirSync(kept);
    writeFileSync(join(kept, 'file'), 'kept');
    symlinkSync(kept, join(workspace, 'out'));
    mkdirSync(join(workspace, 'locked/inside'), { recursive: true });
    writeFileSync(join(workspace, 'locked/inside/file'), '');
    chmodSync(join(workspace, 'locked'), 0);
    assert.equal(await folders.setAside(7), true);
    assert.ok(!existsSync(root));
    assert.deepEqual([await folders.list(), await folders.listSetAside()], [[], [7]]);
    await folders.removeSetAside(7);
    assert.deepEqual(await folders.listSetAside(), []);
    assert.equal(readFileSync(join(kept, 'file'), 'utf8'), 'kept');
    assert.equal(await folders.setAside(7), false);
  });

  it('are removed however deep they are', async (t) => {
    const { folders } = setUp(t);
    const { workspace } = await folders.open(7, name);
    const before = process.cwd();
    process.chdir(workspace);
    try {
      for (let depth = 0; depth < 40; depth++) {
        mkdirSync('d'.repeat(200));
        process.chdir('d'.repeat(200));
      }
    } finally {
      process.chdir(before);
    }
    await folders.setAside(7);
    await folders.removeSetAside(7);
    assert.deepEqual(await folders.listSetAside(), []);
  });

  it('are created again if another conversation had their key, and kept for the same one', async (t) => {
    const { folders } = setUp(t);
    const { workspace, readyMark } = await folders.open(7, name);
    const file = join(workspace, 'file');
    for (const path of [file, readyMark]) writeFileSync(path, '');
    await folders.open(7, name);
    assert.ok(existsSync(file));
    for (const other of [
      { ...name, userId: 2 },
      { ...name, id: 'b' },
    ]) {
      writeFileSync(file, '');
      await folders.open(7, other);
      assert.ok(!existsSync(file) && !existsSync(readyMark));
    }
    assert.deepEqual([await folders.list(), await folders.listSetAside()], [[7], []]);
  });

  it('are empty before the first conversation', async (t) => {
    const { folders } = setUp(t);
    assert.deepEqual([await folders.list(), await folders.listSetAside()], [[], []]);
  });
});

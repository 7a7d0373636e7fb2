// What a snapshot brings back, with the real programs.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commit, git } from '../../../test/support/gitServer.ts';
import { createSnapshotBench } from '../../../test/support/snapshotBench.ts';
import { temporaryFolder } from '../../../test/support/snapshots.ts';

function put(folder: string, files: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

const read = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8');

/** A bare repository with a branch, and a clone of it. */
async function cloned(t: TestContext) {
  const bench = createSnapshotBench(t);
  const remote = temporaryFolder(t);
  git(remote, ['init', '--quiet', '--bare', '--initial-branch=main', '.']);
  git(remote, ['config', 'uploadpack.allowFilter', 'true']);
  commit(remote, 'main', {
    'a.txt': 'a\n',
    'b.txt': 'b\n',
    'c.txt': 'c\n',
    'd/e.txt': 'e\n',
    '.gitignore': 'ignored\n',
  });
  const place = await bench.newPlace();
  git(place.workspace, ['clone', '--quiet', '--filter=blob:none', `file://${remote}`, '.']);
  return { ...bench, place, remote: `file://${remote}`, bare: remote };
}

describe('a snapshot of a clone', () => {
  it('brings back commits, branches, the index, changes, deletions, untracked files and stashes', async (t) => {
    const { place, take, restore, remote } = await cloned(t);
    const { workspace, home } = place;
    git(workspace, ['checkout', '--quiet', '-b', 'work']);
    put(workspace, { 'a.txt': 'committed\n', 'new.txt': 'committed too\n' });
    git(workspace, ['add', '.']);
    git(workspace, ['commit', '--quiet', '-m', 'mine']);
    put(workspace, { 'a.txt': 'stashed\n' });
    git(workspace, ['stash', 'push', '--quiet']);
    put(workspace, { 'b.txt': 'staged\n' });
    git(workspace, ['add', 'b.txt']);
    put(workspace, { 'b.txt': 'staged, then changed\n', 'u/v.txt': 'untracked\n', ignored: 'ignored\n' });
    rmSync(join(workspace, 'c.txt'));
    git(workspace, ['rm', '--quiet', 'd/e.txt']);
    git(workspace, ['config', 'my.setting', 'kept']);
    put(home, { '.agent/session.json': '{"turn":1}', '.cache/big': 'x' });
    const status = git(workspace, ['status', '--short', '--branch']);
    const log = git(workspace, ['log', '--oneline', '--all']);

    const restored = await restore(await take(place, { hasRemote: true }), { remote });
    assert.equal(restored.refusal, undefined);
    assert.equal(git(restored.workspace, ['status', '--short', '--branch']), status);
    assert.equal(git(restored.workspace, ['log', '--oneline', '--all']), log);
    assert.equal(read(restored.workspace, 'b.txt'), 'staged, then changed\n');
    assert.equal(git(restored.workspace, ['show', ':b.txt']), 'staged');
    assert.equal(read(restored.workspace, 'u/v.txt'), 'untracked\n');
    assert.equal(git(restored.workspace, ['stash', 'show', '-p', '--format=']).includes('+stashed'), true);
    assert.equal(git(restored.workspace, ['config', 'my.setting']), 'kept');
    for (const gone of ['c.txt', 'd/e.txt', 'ignored'])
      assert.ok(!existsSync(join(restored.workspace, gone)), gone);
    assert.equal(read(restored.home, '.agent/session.json'), '{"turn":1}');
    assert.ok(!existsSync(join(restored.home, '.cache')));
    assert.doesNotMatch(git(restored.workspace, ['fsck', '--connectivity-only']), /missing|broken/);
  });

  it('does not store what the remote has, nor again what has not changed', async (t) => {
    const { place, take, bare } = await cloned(t);
    commit(bare, 'main', { 'large.bin': randomBytes(3_000_000).toString('base64') });
    git(place.workspace, ['fetch', '--quiet']);
    git(place.workspace, ['reset', '--quiet', '--hard', 'origin/main']);
    const first = await take(place, { hasRemote: true });
    assert.ok(first.summary.bytes < 1_000_000, String(first.summary.bytes));
    put(place.home, { data: randomBytes(8_000_000) });
    const second = await take(place, { hasRemote: true, before: first });
    put(place.workspace, { 'new.txt': 'x' });
    const third = await take(place, { hasRemote: true, before: second });
    assert.ok(second.newPieces > 2, String(second.newPieces));
    // The archive of the workspace and the manifest.
    assert.ok(third.newPieces <= 3, String(third.newPieces));
    assert.equal((await take(place, { hasRemote: true, before: third })).newPieces, 0);
  });

  it('continues in the middle of a merge with conflicts', async (t) => {
    const { place, take, restore, remote } = await cloned(t);
    const { workspace } = place;
    git(workspace, ['checkout', '--quiet', '-b', 'one']);
    put(workspace, { 'a.txt': 'one\n' });
    git(workspace, ['commit', '--quiet', '-am', 'one']);
    git(workspace, ['checkout', '--quiet', '-b', 'two', 'main']);
    put(workspace, { 'a.txt': 'two\n' });
    git(workspace, ['commit', '--quiet', '-am', 'two']);
    assert.throws(() => git(workspace, ['merge', 'one']));
    const status = git(workspace, ['status', '--short', '--branch']);
    const restored = await restore(await take(place, { hasRemote: true }), { remote });
    assert.equal(git(restored.workspace, ['status', '--short', '--branch']), status);
    put(restored.workspace, { 'a.txt': 'both\n' });
    git(restored.workspace, ['commit', '--quiet', '-am', 'merged']);
    assert.equal(git(restored.workspace, ['log', '--merges', '--oneline']).split('\n').length, 1);
  });

  it('is refused if the remote no longer has what it builds on', async (t) => {
    const { place, take, restore } = await cloned(t);
    const taken = await take(place, { hasRemote: true });
    const other = temporaryFolder(t);
    git(other, ['init', '--quiet', '--bare', '--initial-branch=main', '.']);
    commit(other, 'main', { 'x.txt': 'x\n' });
    assert.equal((await restore(taken, { remote: `file://${other}` })).refusal, 'no_commit');
  });
});

describe('a snapshot of other workspaces', () => {
  it('has all commits if there is no remote, and repositories in subfolders as they are', async (t) => {
    const { newPlace, take, restore } = createSnapshotBench(t);
    const place = await newPlace();
    const { workspace } = place;
    git(workspace, ['init', '--quiet', '.']);
    put(workspace, { 'a.txt': 'a\n', 'inner/b.txt': 'b\n' });
    git(join(workspace, 'inner'), ['init', '--quiet', '.']);
    git(join(workspace, 'inner'), ['add', '.']);
    git(join(workspace, 'inner'), ['commit', '--quiet', '-m', 'inner']);
    git(workspace, ['add', 'a.txt']);
    git(workspace, ['commit', '--quiet', '-m', 'outer']);
    const restored = await restore(await take(place));
    assert.equal(restored.refusal, undefined);
    assert.equal(git(restored.workspace, ['log', '--format=%s']), 'outer');
    assert.equal(git(join(restored.workspace, 'inner'), ['log', '--format=%s']), 'inner');
    assert.equal(git(join(restored.workspace, 'inner'), ['status', '--short']), '');
  });

  it('has all files if there is no repository', async (t) => {
    const { newPlace, take, restore } = createSnapshotBench(t);
    const place = await newPlace();
    put(place.workspace, { 'a/b/c.txt': 'c\n', node_modules: 'a file\n' });
    const odd = Buffer.concat([Buffer.from(`${place.workspace}/`), Buffer.from([0xff, 0x0a, 0x2d])]);
    writeFileSync(odd, 'odd name');
    symlinkSync('/etc/passwd', join(place.workspace, 'link'));
    chmodSync(join(place.workspace, 'a/b/c.txt'), 0o755);
    mkdirSync(join(place.workspace, 'empty'));
    const restored = await restore(await take(place));
    assert.equal(restored.refusal, undefined);
    assert.equal(read(restored.workspace, 'a/b/c.txt'), 'c\n');
    assert.equal(statSync(join(restored.workspace, 'a/b/c.txt')).mode & 0o777, 0o755);
    assert.equal(readlinkSync(join(restored.workspace, 'link')), '/etc/passwd');
    assert.ok(lstatSync(join(restored.workspace, 'empty')).isDirectory());
    const copied = Buffer.concat([Buffer.from(`${restored.workspace}/`), Buffer.from([0xff, 0x0a, 0x2d])]);
    assert.equal(readFileSync(copied, 'utf8'), 'odd name');
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { bubblewrap, newSandboxSpec, noBubblewrap } from '../../../test/support/sandboxes.ts';
import { cloneInto, commitFiles, git, look, makeFolder, putFiles } from '../../../test/support/workspace.ts';
import { openSandbox } from '../../sandbox/openSandbox.ts';
import { mib } from '../../validation/schema.ts';
import { inspectionBounds } from './bounds.ts';
import { inspectWorkspace } from './inspect.ts';
import { inspectionReadable } from './program.ts';
import type { GitChange, GitDiff } from './schema.ts';

async function changesOf(workspace: string): Promise<string[]> {
  const changes = (await look(workspace, { command: 'changes' })) as GitChange[];
  return changes.map(({ status, path }) => `${status} ${path}`);
}

const diffOf = async (workspace: string, path: string) =>
  (await look(workspace, { command: 'diff', path })) as GitDiff;

/** Creates an empty workspace, and a folder outside of it. */
function createFolders(t: TestContext): { workspace: string; outside: string } {
  const folder = makeFolder(t);
  const outside = join(folder, 'outside');
  mkdirSync(outside);
  return { workspace: join(folder, 'workspace'), outside };
}

describe('the changes of a workspace', () => {
  it('are relative to the point where the branch left origin, committed or not', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1', 'b.txt': '1' });
    git(workspace, 'checkout', '--quiet', '-b', 'fix/deep');
    commitFiles(workspace, { 'a.txt': '2', 'c.txt': '2' });
    commitFiles(`${workspace}-origin`, { 'b.txt': 'origin went on' });
    git(workspace, 'fetch', '--quiet');
    putFiles(workspace, { 'd.txt': '3' });
    assert.deepEqual(await changesOf(workspace), ['M a.txt', 'A c.txt', 'A d.txt']);
    assert.deepEqual(await diffOf(workspace, 'a.txt'), { modified: '2', original: '1' });
  });

  it('are relative to the start of the work, also after a push, a pull and in another clone', async (t) => {
    const { workspace, outside } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1', 'b.txt': '1' });
    git(`${workspace}-origin`, 'config', 'receive.denyCurrentBranch', 'ignore');
    commitFiles(workspace, { 'a.txt': '2', 'c.txt': '2' });
    git(workspace, 'push', '--quiet', 'origin', 'main');
    const changed = ['M a.txt', 'A c.txt'];
    assert.deepEqual(await changesOf(workspace), changed);
    assert.deepEqual(await diffOf(workspace, 'a.txt'), { modified: '2', original: '1' });
    git(workspace, 'checkout', '--quiet', '-b', 'feature');
    commitFiles(workspace, { 'd.txt': '3' });
    git(workspace, 'push', '--quiet', '--set-upstream', 'origin', 'feature');
    git(workspace, 'fetch', '--quiet', '--prune');
    assert.deepEqual(await changesOf(workspace), [...changed, 'A d.txt']);
    putFiles(workspace, { 'a.txt': '1' });
    assert.deepEqual(await changesOf(workspace), ['M a.txt', 'A c.txt', 'A d.txt']);
    git(outside, 'clone', '--quiet', `${workspace}-origin`, join(workspace, 'nested'));
    commitFiles(join(workspace, 'nested'), { 'e.txt': '4' });
    git(join(workspace, 'nested'), 'push', '--quiet', 'origin', 'main');
    assert.ok((await changesOf(workspace)).includes('A nested/e.txt'));
  });

  it('are all files if the work started with nothing, also after a push', async (t) => {
    const { workspace, outside } = createFolders(t);
    mkdirSync(workspace);
    git(workspace, 'init', '--quiet');
    commitFiles(workspace, { 'a.txt': '1' });
    git(outside, 'init', '--quiet', '--bare');
    git(workspace, 'remote', 'add', 'origin', outside);
    git(workspace, 'push', '--quiet', 'origin', 'main');
    assert.deepEqual(await changesOf(workspace), ['A a.txt']);
  });

  it('support a single cloned branch, and a clone without history', async (t) => {
    const { workspace, outside } = createFolders(t);
    git(outside, 'init', '--quiet');
    commitFiles(outside, { 'a.txt': '1' });
    git(outside, 'checkout', '--quiet', '-b', 'side');
    commitFiles(outside, { 'b.txt': '1' });
    git(outside, 'checkout', '--quiet', 'main');
    git(outside, 'clone', '--quiet', '--depth=1', '--branch=side', `file://${outside}`, workspace);
    git(workspace, 'checkout', '--quiet', '-b', 'work');
    commitFiles(workspace, { 'c.txt': '1' });
    assert.deepEqual(await changesOf(workspace), ['A c.txt']);
  });

  it('need no file contents that were never fetched', async (t) => {
    const { workspace, outside } = createFolders(t);
    git(outside, 'init', '--quiet');
    git(outside, 'config', 'uploadpack.allowFilter', 'true');
    commitFiles(outside, { 'a.txt': 'old' });
    commitFiles(outside, { 'a.txt': '1', 'b.txt': '1' });
    git(outside, 'clone', '--quiet', '--filter=blob:none', `file://${outside}`, workspace);
    putFiles(workspace, { 'a.txt': '2' });
    assert.deepEqual(await changesOf(workspace), ['M a.txt']);
    assert.deepEqual(await diffOf(workspace, 'a.txt'), { modified: '2', original: '1' });
    // Where nobody knows the start any more, origin counts.
    rmSync(join(workspace, '.git/logs'), { recursive: true });
    git(workspace, 'update-ref', 'refs/remotes/origin/main', 'HEAD~');
    assert.deepEqual(await changesOf(workspace), ['M a.txt', 'A b.txt']);
    await assert.rejects(diffOf(workspace, 'a.txt'), { code: 'not_found', message: /never fetched/ });
  });

  it('include what is only in the index, or no longer in it', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1', 'b.txt': '1', 'c.txt': '1' });
    putFiles(workspace, { 'a.txt': '2', 'fleeting.txt': '', 'meant.txt': '' });
    git(workspace, 'add', 'a.txt', 'fleeting.txt');
    git(workspace, 'add', '--intent-to-add', 'meant.txt');
    rmSync(join(workspace, 'a.txt'));
    rmSync(join(workspace, 'fleeting.txt'));
    git(workspace, 'rm', '--quiet', '--cached', 'b.txt');
    git(workspace, 'rm', '--quiet', 'c.txt');
    assert.deepEqual(await changesOf(workspace), ['D a.txt', 'M b.txt', 'D c.txt', 'A meant.txt']);
  });

  it('list a renamed file as deleted and added, and a new kind of file as modified', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'old.txt': 'the same', 'kind.txt': 'x' });
    renameSync(join(workspace, 'old.txt'), join(workspace, 'new.txt'));
    rmSync(join(workspace, 'kind.txt'));
    symlinkSync('new.txt', join(workspace, 'kind.txt'));
    git(workspace, 'add', '--all');
    assert.deepEqual(await changesOf(workspace), ['M kind.txt', 'A new.txt', 'D old.txt']);
    assert.deepEqual(await diffOf(workspace, 'kind.txt'), { modified: 'new.txt', original: 'x' });
  });

  it('list conflicts once, and leave out what .gitignore files name, but not what is only hidden in .git', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1\n', '.gitignore': '*.log\n' });
    git(workspace, 'checkout', '--quiet', '-b', 'side');
    commitFiles(workspace, { 'a.txt': '2\n' });
    git(workspace, 'checkout', '--quiet', 'main');
    commitFiles(workspace, { 'a.txt': '3\n' });
    assert.throws(() => git(workspace, 'merge', 'side'));
    putFiles(workspace, { 'x.log': '', 'x.tmp': '', '.git/info/exclude': '*.tmp\n', '.git/ours': '*' });
    git(workspace, 'config', 'core.excludesFile', '.git/ours');
    assert.deepEqual(await changesOf(workspace), ['M a.txt', 'A x.tmp']);
  });

  it('wait for no pipe, and name everything else', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1', 'b/c.txt': '1' });
    putFiles(workspace, { 'a.txt': '2', 'b/c.txt': '2', 'b/d.txt': '3' });
    for (const path of [
      '.gitignore',
      '.gitattributes',
      'b/.gitignore',
      'b/.gitattributes',
      '.git/objects/info/commit-graph',
    ])
      execFileSync('mkfifo', [join(workspace, path)]);
    const odd = Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff])]);
    mkdirSync(odd);
    // The name is no text, so that only a shell can be told it.
    execFileSync('sh', ['-c', 'mkfifo "$(printf \'\\377\')/.gitignore"'], { cwd: workspace });
    assert.deepEqual(await changesOf(workspace), ['M a.txt', 'M b/c.txt', 'A b/d.txt']);
    assert.deepEqual(await diffOf(workspace, 'a.txt'), { modified: '2', original: '1' });
  });

  it('skip folders that cannot be read', { skip: noBubblewrap }, async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1' });
    putFiles(workspace, { 'a.txt': '2', 'closed/b.txt': '1', 'c.txt': '1' });
    chmodSync(join(workspace, 'closed'), 0);
    const spec = newSandboxSpec(t, { workspace, readable: inspectionReadable });
    // Root itself may read them; nobody in bubblewrap may.
    const open = await openSandbox({ engine: bubblewrap(), spec });
    t.after(() => open.close());
    const changes = await inspectWorkspace(
      open,
      { command: 'changes' },
      inspectionBounds,
      new AbortController().signal,
    );
    assert.deepEqual(changes, [
      { status: 'M', path: 'a.txt' },
      { status: 'A', path: 'c.txt' },
    ]);
  });

  it('name a folder whose repository cannot be read, and list the rest', async (t) => {
    const { workspace } = createFolders(t);
    mkdirSync(join(workspace, 'broken/.git/objects'), { recursive: true });
    cloneInto(join(workspace, 'shop'), { 'a.txt': '1' });
    rmSync(join(workspace, 'shop-origin'), { recursive: true });
    putFiles(workspace, { 'shop/a.txt': '2', 'broken/.git/objects/info/alternates': '/', 'broken/x': '' });
    assert.deepEqual(await changesOf(workspace), ['A broken/', 'M shop/a.txt']);
    git(workspace, 'init', '--quiet');
    assert.deepEqual(await changesOf(workspace), ['A broken/x', 'M shop/a.txt']);
  });

  it('are refused if git would need more memory than it may have', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1' });
    putFiles(workspace, { '.gitignore': '' });
    truncateSync(join(workspace, '.gitignore'), 80 * mib);
    assert.deepEqual(await changesOf(workspace), ['A .gitignore']);
    const bounds = { gitAddressBytesMax: 64 * mib };
    await assert.rejects(look(workspace, { command: 'changes' }, bounds), { code: 'answer_too_large' });
  });

  it('list names of any kind', async (t) => {
    const { workspace } = createFolders(t);
    const names = ['with space', 'quo"te', "it's", 'new\nline', 'tab\tbed', 'ünïcode', '-n', ':(top)x', '*'];
    cloneInto(workspace, Object.fromEntries(names.map((name) => [name, '1'])));
    for (const name of names) putFiles(workspace, { [name]: '2' });
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0x66, 0xff])]), '');
    const expected = [...names.map((name) => `M ${name}`), 'A f\ufffd'];
    assert.deepEqual((await changesOf(workspace)).toSorted(), expected.toSorted());
    for (const name of names)
      assert.deepEqual(await diffOf(workspace, name), { modified: '2', original: '1' }, name);
  });

  it('are all files in a repository without commits, and without origin', async (t) => {
    const { workspace } = createFolders(t);
    mkdirSync(workspace);
    git(workspace, 'init', '--quiet');
    putFiles(workspace, { 'a.txt': '1', 'b.txt': '1' });
    assert.deepEqual(await changesOf(workspace), ['A a.txt', 'A b.txt']);
    assert.deepEqual(await diffOf(workspace, 'a.txt'), { modified: '1', original: '' });
    git(workspace, 'add', 'a.txt');
    git(workspace, 'commit', '--quiet', '--message', 'first');
    assert.deepEqual(await changesOf(workspace), ['A a.txt', 'A b.txt']);
  });

  it('include those of repositories in folders of the workspace', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(join(workspace, 'shop'), { 'a.txt': '1' });
    putFiles(workspace, { 'shop/a.txt': '2', 'shop/b/c.txt': '1', 'loose.txt': '' });
    rmSync(join(workspace, 'shop-origin'), { recursive: true });
    assert.deepEqual(await changesOf(workspace), ['M shop/a.txt', 'A shop/b/c.txt']);
    assert.deepEqual(await diffOf(workspace, 'shop/a.txt'), { modified: '2', original: '1' });
    git(workspace, 'init', '--quiet');
    assert.deepEqual(await changesOf(workspace), ['A loose.txt', 'M shop/a.txt', 'A shop/b/c.txt']);
  });

  it('are refused beyond the limit of entries', async (t) => {
    const { workspace } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1' });
    putFiles(workspace, { b: '', c: '', d: '' });
    assert.equal(((await look(workspace, { command: 'changes' }, { entriesMax: 3 })) as unknown[]).length, 3);
    await assert.rejects(look(workspace, { command: 'changes' }, { entriesMax: 2 }), {
      code: 'answer_too_large',
    });
  });
});

/** A clone whose configuration runs a program, which leaves a mark, wherever git lets one run. */
function plantedClone(t: TestContext) {
  const { workspace, outside } = createFolders(t);
  const mark = join(outside, 'mark');
  const program = join(outside, 'program');
  writeFileSync(program, `#!/bin/sh\ntouch '${mark}'\ncat "$1" 2>/dev/null\n`);
  chmodSync(program, 0o755);
  cloneInto(workspace, { 'a.txt': '1\n', '.gitattributes': '* filter=evil diff=evil\n' });
  const plant = (folder: string, names: readonly string[]) => {
    for (const name of names) git(folder, 'config', name, program);
  };
  const marked = () => existsSync(mark);
  const clean = () => rmSync(mark, { force: true });
  return { workspace, outside, plant, marked, clean };
}

describe('the configuration of a repository', () => {
  const programs = [
    'core.fsmonitor',
    'filter.evil.clean',
    'diff.evil.textconv',
    'diff.evil.command',
    'diff.external',
  ];
  for (const name of programs)
    it(`runs no program with ${name}`, async (t) => {
      const { workspace, plant, marked, clean } = plantedClone(t);
      plant(workspace, [name]);
      putFiles(workspace, { 'a.txt': '2\n' });
      git(workspace, 'diff', 'HEAD');
      assert.ok(marked(), 'git itself would have run it');
      clean();
      putFiles(workspace, { 'a.txt': '3\n' });
      assert.deepEqual(await changesOf(workspace), ['M a.txt']);
      assert.deepEqual(await diffOf(workspace, 'a.txt'), { modified: '3\n', original: '1\n' });
      assert.equal(marked(), false);
    });

  it('runs no program of a nested repository', async (t) => {
    const { workspace, plant, marked, clean } = plantedClone(t);
    const inner = join(workspace, 'deep/inner');
    mkdirSync(inner, { recursive: true });
    git(inner, 'init', '--quiet');
    commitFiles(inner, { 'x.txt': '1' });
    commitFiles(workspace, {});
    plant(inner, ['core.fsmonitor']);
    git(workspace, 'diff', 'HEAD');
    assert.ok(marked(), 'git itself would have run it');
    clean();
    await changesOf(workspace);
    assert.equal(marked(), false);
  });

  it('leads to no files outside', async (t) => {
    const { workspace, outside } = plantedClone(t);
    putFiles(outside, { 'private.txt': 'private' });
    git(workspace, 'config', 'core.worktree', outside);
    assert.deepEqual(await changesOf(workspace), []);
  });
});

describe('a repository with parts outside', () => {
  it('is none if .git is a link or a file that leads out', async (t) => {
    const { workspace, outside } = createFolders(t);
    cloneInto(join(outside, 'theirs'), { 'a.txt': 'private' });
    const gitDir = join(outside, 'theirs/.git');
    mkdirSync(workspace);
    symlinkSync(gitDir, join(workspace, '.git'));
    await assert.rejects(changesOf(workspace), { code: 'no_repository' });
    rmSync(join(workspace, '.git'));
    putFiles(workspace, { '.git': `gitdir: ${gitDir}\n` });
    await assert.rejects(diffOf(workspace, 'a.txt'), { code: 'no_repository' });
  });

  it('is refused if its objects are outside, or its format is unknown', async (t) => {
    const { workspace, outside } = createFolders(t);
    cloneInto(workspace, { 'a.txt': '1' });
    const objects = join(workspace, '.git/objects');
    putFiles(objects, { 'info/alternates': `${outside}\n` });
    await assert.rejects(changesOf(workspace), { code: 'no_repository' });
    rmSync(join(objects, 'info/alternates'));
    assert.deepEqual(await changesOf(workspace), []);
    renameSync(objects, join(outside, 'objects'));
    symlinkSync(join(outside, 'objects'), objects);
    await assert.rejects(changesOf(workspace), { code: 'no_repository' });
    rmSync(join(workspace, '.git'), { recursive: true });
    git(workspace, 'init', '--quiet', '--object-format=sha256');
    commitFiles(workspace, { 'b.txt': '1' });
    await assert.rejects(changesOf(workspace), { code: 'no_repository' });
  });
});

// The changes of a workspace as one patch.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { git as runGit } from '../../../test/support/gitServer.ts';
import { bytes, temporaryFolder, treeOf } from '../../../test/support/localFolder.ts';
import {
  cloneInto,
  commitFiles,
  git,
  makeFolder,
  openInspectionSandbox,
  putFiles,
} from '../../../test/support/workspace.ts';
import { inspectionBounds } from './bounds.ts';
import { download } from './download.ts';
import type { InspectionBounds } from './inside/request.ts';

async function patchOf(
  workspace: string,
  from: 'base' | 'start' = 'base',
  bounds: Partial<InspectionBounds> = {},
): Promise<Buffer> {
  const sandbox = await openInspectionSandbox(workspace);
  const { signal } = new AbortController();
  const what = { command: 'patch', from } as const;
  return buffer(
    await download(sandbox, what, { ...inspectionBounds, ...bounds }, signal, () => void sandbox.close()),
  );
}

function setUp(t: TestContext): string {
  const workspace = join(realpathSync(makeFolder(t)), 'workspace');
  cloneInto(workspace, { 'a.txt': '1\n', 'b.txt': '1\n', '.gitignore': '*.log\n' });
  return workspace;
}

/** Applies a patch to a new clone, and returns its tree. */
function applied(t: TestContext, workspace: string, patch: Buffer, commit = 'HEAD'): string {
  const target = temporaryFolder(t);
  runGit(target, ['clone', '--quiet', `${workspace}-origin`, '.']);
  runGit(target, ['reset', '--quiet', '--hard', commit]);
  runGit(target, ['apply', '--whitespace=nowarn', '-'], patch);
  return treeOf(target);
}

describe('the patch of a workspace', () => {
  it('has commits, changes, binary and untracked files and links, without ignored ones', async (t) => {
    const workspace = setUp(t);
    const base = git(workspace, 'rev-parse', 'HEAD').trim();
    commitFiles(workspace, { 'a.txt': '2\n' });
    putFiles(workspace, { 'b.txt': 'changed', 'new/ünï.bin': bytes, 'x.log': 'ignored' });
    symlinkSync('a.txt', join(workspace, 'link'));
    git(workspace, 'rm', '--quiet', '--force', '.gitignore');
    putFiles(workspace, { '.gitignore': '*.log\nmore\n', more: 'ignored, too' });
    const before = readdirSync(join(workspace, '.git'), { recursive: true }).length;
    const patch = await patchOf(workspace);
    assert.equal(patch.toString().split('\n')[0], `# base: ${base}`);
    assert.equal(applied(t, workspace, patch), treeOf(workspace));
    assert.doesNotMatch(patch.toString(), /ignored/);
    // Only the test itself has written objects since.
    assert.ok(readdirSync(join(workspace, '.git'), { recursive: true }).length >= before);
    assert.equal(git(workspace, 'diff', '--cached', '--name-only').trim(), '.gitignore');
  });

  it('is only the first line if nothing has changed', async (t) => {
    const workspace = setUp(t);
    const head = git(workspace, 'rev-parse', 'HEAD').trim();
    assert.equal((await patchOf(workspace)).toString(), `# base: ${head}\n`);
  });

  it('leaves out what came with the workspace, if that is wanted', async (t) => {
    const workspace = setUp(t);
    putFiles(workspace, { 'a.txt': 'by the user\n' });
    git(workspace, 'add', '--all');
    const tree = git(workspace, 'write-tree').trim();
    const start = git(workspace, 'commit-tree', '-p', 'HEAD', '-m', 'start', tree).trim();
    git(workspace, 'update-ref', 'refs/parley/start', start);
    git(workspace, 'reset', '--quiet');
    putFiles(workspace, { 'b.txt': 'by the agent\n' });
    const [all, own] = [await patchOf(workspace), await patchOf(workspace, 'start')];
    assert.match(all.toString(), /by the user.*by the agent/s);
    assert.doesNotMatch(own.toString(), /by the user/);
    assert.match(own.toString(), /^# base: [0-9a-f]{40}\ndiff --git a\/b.txt/);
  });

  it('starts from nothing in a workspace without a repository to clone', async (t) => {
    const workspace = realpathSync(makeFolder(t));
    git(workspace, 'init', '--quiet');
    putFiles(workspace, { 'a.txt': 'a\n' });
    assert.match(
      (await patchOf(workspace)).toString(),
      /^# base: none\ndiff --git a\/a.txt b\/a.txt\nnew file/,
    );
  });

  it('is refused if it is too large, or if there is no repository', async (t) => {
    const workspace = setUp(t);
    putFiles(workspace, { large: 'x\n'.repeat(10_000) });
    await assert.rejects(patchOf(workspace, 'base', { patchBytesMax: 5_000 }), { code: 'answer_too_large' });
    await assert.rejects(patchOf(realpathSync(makeFolder(t))), { code: 'no_repository' });
  });

  it('runs nothing of the repository, and shows nothing outside of the workspace', async (t) => {
    const workspace = setUp(t);
    const outside = join(workspace, '..', 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.txt'), 'secret');
    const mark = join(outside, 'mark');
    putFiles(workspace, { '.gitattributes': '* filter=x diff=x\n', 'a.txt': 'changed\n', 'c.txt': 'new\n' });
    const run = `touch ${mark}; cat`;
    for (const name of [
      'filter.x.clean',
      'filter.x.process',
      'diff.x.textconv',
      'diff.x.command',
      'diff.external',
    ])
      git(workspace, 'config', name, run);
    git(workspace, 'config', 'core.fsmonitor', `touch ${mark}`);
    symlinkSync(join(outside, 'secret.txt'), join(workspace, 'link'));
    symlinkSync(outside, join(workspace, 'folder'));
    const patch = (await patchOf(workspace)).toString();
    assert.ok(!existsSync(mark));
    assert.doesNotMatch(patch, /^\+secret$/m);
    assert.match(patch, /c\.txt/);
  });

  it('names files that Git does not take, and has the others', async (t) => {
    const workspace = setUp(t);
    const odd = { '.GIT/config': 'bad\n', 'git~1/x "y"': 'bad\n' };
    putFiles(workspace, { ...odd, 'a.txt': 'changed\n', 'c.txt': 'new\n' });
    const [, ...lines] = (await patchOf(workspace)).toString().split('\n');
    assert.deepEqual(lines.slice(0, 2), ['# left out: ".GIT/config"', '# left out: "git~1/x \\"y\\""']);
    assert.deepEqual(
      lines.filter((line) => line.startsWith('diff --git ')),
      ['diff --git a/a.txt b/a.txt', 'diff --git a/c.txt b/c.txt'],
    );
  });

  it('leaves out repositories in subfolders', async (t) => {
    const workspace = setUp(t);
    cloneInto(join(workspace, 'lib'), { 'x.txt': 'x' });
    putFiles(workspace, { 'y.txt': 'y\n' });
    const patch = (await patchOf(workspace)).toString();
    assert.match(patch, /b\/y\.txt/);
    assert.doesNotMatch(patch, /b\/lib\//);
  });
});

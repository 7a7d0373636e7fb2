// Workspaces that start with the state of a local folder.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commit, git } from '../../../test/support/gitServer.ts';
import { changeEverything, cloneFolder, plainFolder, treeOf } from '../../../test/support/localFolder.ts';
import { createWorkspaceBench, remoteAt, workspaceSandboxes } from '../../../test/support/workspaceBench.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';
import type { StartingPatch } from './applyPatch.ts';

const empty = Buffer.alloc(0);

async function setUp(t: TestContext, engine: SandboxEngine) {
  const folder = await cloneFolder(t);
  const bench = await createWorkspaceBench(t, { engine, remote: remoteAt(folder.host.url, 'team/app') });
  const prepare = (patch: StartingPatch) => bench.prepare({ loadPatch: async () => patch });
  return { ...bench, folder, prepare, workspace: bench.folders.workspace };
}

function patchOf({ git: run, pushed }: Awaited<ReturnType<typeof cloneFolder>>): Buffer {
  run('add', '--all');
  return Buffer.from(`${run('diff', '--binary', '--full-index', '--cached', pushed)}\n`);
}

for (const engine of workspaceSandboxes) {
  describe(`a workspace that starts with a patch in the ${engine.kind} sandbox`, () => {
    it('has the files of the folder at its commit, although the branch has moved on', async (t) => {
      const { folder, prepare, workspace, progress } = await setUp(t, engine);
      changeEverything(folder);
      commit(folder.repository, 'main', { 'README.md': 'later\n' });
      const patch = patchOf(folder);
      const prepared = await prepare({ baseCommit: folder.pushed, patch });
      assert.deepEqual(prepared, {
        outcome: 'ready',
        setupFailure: undefined,
        applied: { files: 8, baseCommit: folder.pushed },
      });
      assert.equal(treeOf(workspace), treeOf(folder.path));
      assert.equal(git(workspace, ['rev-parse', 'HEAD']), folder.pushed);
      assert.equal(git(workspace, ['symbolic-ref', '--short', 'HEAD']), 'main');
      // Nothing is staged, as after editing.
      assert.equal(git(workspace, ['diff', '--cached', '--name-only']), '');
      assert.equal(git(workspace, ['rev-parse', 'refs/parley/start^{tree}']), treeOf(folder.path));
      assert.equal(git(workspace, ['rev-parse', 'refs/parley/start^']), folder.pushed);
      assert.ok(progress.includes('Applying the changes of the local folder'));
    });

    it('is at the commit if there are no changes', async (t) => {
      const { folder, prepare, workspace } = await setUp(t, engine);
      commit(folder.repository, 'main', { 'README.md': 'later\n' });
      const prepared = await prepare({ baseCommit: folder.pushed, patch: empty });
      assert.equal(prepared.outcome, 'ready');
      assert.equal(readFileSync(join(workspace, 'README.md'), 'utf8'), 'main\n');
      assert.equal(git(workspace, ['status', '--porcelain']), '');
    });

    it('is not started if the patch does not apply or the commit is missing, and says so', async (t) => {
      const { folder, prepare, folders, progress } = await setUp(t, engine);
      folder.write('README.md', 'changed\n');
      const patch = patchOf(folder);
      const missing = await prepare({ baseCommit: '1'.repeat(40), patch });
      assert.equal(missing.outcome, 'failed');
      assert.match(
        missing.outcome === 'failed' ? missing.sentence : '',
        /not have the commit 111111111111 that/,
      );
      commit(folder.repository, 'main', { 'README.md': 'later\n' });
      const conflict = await prepare({ baseCommit: null, patch });
      assert.match(
        conflict.outcome === 'failed' ? conflict.sentence : '',
        /do not apply to the selected branch: .*README\.md.* Your local folder still has the changes/,
      );
      assert.ok(!existsSync(folders.readyMark), progress.join());
      // The next start begins anew.
      assert.equal((await prepare({ baseCommit: folder.pushed, patch })).outcome, 'ready');
    });

    it('never writes outside of the workspace or into .git, whatever the patch says', async (t) => {
      const { folder, prepare, folders } = await setUp(t, engine);
      const add = (path: string) =>
        `diff --git a/${path} b/${path}\nnew file mode 100644\nindex 0000000..0\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
      const link =
        'diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n@@ -0,0 +1 @@\n+..\n\\ No newline at end of file\n';
      for (const text of [
        add('../escaped'),
        add('.git/hooks/post-checkout'),
        `${link}${add('out/escaped')}`,
      ]) {
        const prepared = await prepare({ baseCommit: folder.pushed, patch: Buffer.from(text) });
        assert.equal(prepared.outcome, 'failed', text);
        assert.ok(!existsSync(join(folders.root, 'escaped')));
        assert.ok(!existsSync(join(folders.workspace, '.git/hooks/post-checkout')));
      }
    });

    it('starts with the files of a folder that has no repository', async (t) => {
      const bench = await createWorkspaceBench(t, { engine });
      const folder = plainFolder(t);
      folder.git('init', '--quiet', '.');
      folder.write('a.txt', 'a\n');
      folder.write('.openhands/setup.sh', 'echo set up > made.txt\n');
      folder.git('add', '--all');
      const patch = Buffer.from(`${folder.git('diff', '--cached', '--binary')}\n`);
      const prepared = await bench.prepare({ loadPatch: async () => ({ baseCommit: null, patch }) });
      assert.deepEqual(prepared.outcome === 'ready' && prepared.applied, { files: 2, baseCommit: null });
      const { workspace } = bench.folders;
      assert.equal(git(workspace, ['ls-files']), '');
      assert.equal(readFileSync(join(workspace, 'made.txt'), 'utf8'), 'set up\n');
    });
  });
}

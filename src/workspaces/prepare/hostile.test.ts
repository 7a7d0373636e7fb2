import assert from 'node:assert/strict';
import { existsSync, lstatSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  commit,
  commitManyFiles,
  commitWithSubmodule,
  git,
  startGitServer,
} from '../../../test/support/gitServer.ts';
import { createWorkspaceBench, remoteAt, workspaceSandboxes } from '../../../test/support/workspaceBench.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';

async function setUp(t: TestContext, engine: SandboxEngine, resourceFactor = 1) {
  const server = await startGitServer(t);
  const repository = server.repository('eve/trap');
  const remote = remoteAt(server.url, 'eve/trap');
  const bench = await createWorkspaceBench(t, { engine, remote, resourceFactor });
  // A place that can be written to inside; `trap` is its name in there.
  const trap = join(bench.sandbox.paths.home, 'sprung');
  const isSprung = () => existsSync(join(bench.folders.home, 'sprung'));
  const inWorkspace = (path: string) => join(bench.folders.workspace, path);
  return { ...bench, server, repository, remote, trap, isSprung, inWorkspace };
}

/** Ways to write a path that some file system takes for `.git/config`, or that leads out. */
const forbiddenPaths = [
  '.git/config',
  '.GIT/config',
  '.git\u200c/config',
  'git~1/config',
  '../out',
  'a/../../out',
];

for (const engine of workspaceSandboxes) {
  describe(`a hostile repository in the ${engine.kind} sandbox`, () => {
    it('runs no filter that its attributes name', async (t) => {
      const bench = await setUp(t, engine);
      commit(bench.repository, 'main', {
        '.gitattributes': '* filter=trap diff=trap merge=trap\n*.bin filter=lfs\n',
        '.gitconfig': `[filter "trap"]\n\tsmudge = touch ${bench.trap}\n\trequired = true\n`,
        '.lfsconfig': '[lfs]\n\turl = http://127.0.0.1:1/\n',
        'a.bin': 'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n',
      });
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.match(readFileSync(bench.inWorkspace('a.bin'), 'utf8'), /^version/);
      assert.ok(!bench.isSprung());
    });

    it('runs nothing that the configuration of a home or a workspace names', async (t) => {
      const bench = await setUp(t, engine);
      commit(bench.repository, 'main', { '.gitattributes': '* filter=trap\n', a: 'a' });
      const config = [
        `[core]\n\tfsmonitor = touch ${bench.trap}; false\n\thooksPath = ${bench.sandbox.paths.home}\n`,
        `[filter "trap"]\n\tsmudge = touch ${bench.trap}; cat\n`,
        '[url "file:///"]\n\tinsteadOf = http\n',
        `[init]\n\ttemplateDir = ${bench.sandbox.paths.home}\n`,
      ].join('');
      writeFileSync(join(bench.folders.home, '.gitconfig'), config);
      writeFileSync(join(bench.folders.home, 'post-checkout'), `#!/bin/sh\ntouch ${bench.trap}\n`, {
        mode: 0o755,
      });
      assert.equal((await bench.prepare()).outcome, 'ready');
      writeFileSync(bench.inWorkspace('.git/config'), config, { flag: 'a' });
      // Without its mark the workspace is looked at once more.
      rmSync(bench.folders.setupMark);
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.ok(!bench.isSprung());
      // The trap is a good one: whoever takes no care springs it.
      await bench.asAgent('git status');
      assert.ok(bench.isSprung());
    });

    it('runs no hook of the host, and brings none along', async (t) => {
      const bench = await setUp(t, engine);
      commit(bench.repository, 'main', { 'hooks/post-checkout': `#!/bin/sh\ntouch ${bench.trap}\n` });
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.ok(!existsSync(bench.inWorkspace('.git/hooks/post-checkout')));
      assert.ok(!bench.isSprung());
    });

    it('gets no submodule, whatever its URL is', async (t) => {
      for (const url of ['ext::sh -c "touch%20TRAP"', 'file:///etc', '-u./payload', '/etc']) {
        const bench = await setUp(t, engine);
        commitWithSubmodule(bench.repository, 'main', url.replace('TRAP', bench.trap));
        assert.equal((await bench.prepare()).outcome, 'ready');
        assert.ok(!existsSync(bench.inWorkspace('lib/.git')));
        assert.ok(!bench.isSprung());
      }
    });

    it('cannot write through its links', async (t) => {
      const bench = await setUp(t, engine);
      const target = bench.sandbox.paths.home;
      commit(bench.repository, 'main', { out: { link: target }, hosts: { link: '/etc/hosts' } });
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.ok(lstatSync(bench.inWorkspace('out')).isSymbolicLink());
      commit(bench.repository, 'both', { 'out/sprung': 'written' });
      const { code } = await bench.asAgent('git fetch -q origin both && git checkout -q FETCH_HEAD');
      assert.equal(code, 0);
      assert.ok(!bench.isSprung());
    });

    it('is refused if it contains paths that lead to .git or out', async (t) => {
      for (const path of forbiddenPaths) {
        const bench = await setUp(t, engine);
        commit(bench.repository, 'main', { [path]: `[core]\n\tfsmonitor = touch ${bench.trap}\n` });
        assert.deepEqual(
          await bench.prepare(),
          {
            outcome: 'failed',
            sentence: 'eve/trap contains objects that Git rejects because they are damaged or dangerous.',
          },
          path,
        );
        assert.ok(!existsSync(join(bench.folders.root, 'out')));
        assert.ok(!bench.isSprung());
      }
    });

    it('cannot take all memory with a tree of many files, if no cgroup limits it', async (t) => {
      const bench = await setUp(t, engine, 0.1);
      commit(bench.repository, 'small', { a: 'a' });
      assert.equal((await bench.prepare({ branch: 'small' })).outcome, 'ready');
      rmSync(bench.folders.readyMark);
      commitManyFiles(bench.repository, 'main');
      assert.deepEqual(await bench.prepare(), {
        outcome: 'failed',
        sentence: 'eve/trap needs more memory to be cloned than a sandbox may have.',
      });
    });

    it('may have refs with odd names, and none is treated as an option', async (t) => {
      const bench = await setUp(t, engine);
      const made = commit(bench.repository, 'main', { a: 'a' });
      const packed = [`--upload-pack=touch ${bench.trap}`, '-x', '$(touch sprung)', '`x`', 'a;b', "it's"];
      const lines = packed.filter((name) => !/[ ]/.test(name)).map((name) => `${made} refs/heads/${name}\n`);
      writeFileSync(join(bench.repository, 'packed-refs'), lines.join(''), { flag: 'a' });
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.ok(!bench.isSprung());
      assert.match(git(bench.folders.workspace, ['branch', '-r']), /origin\/-x/);
    });

    it('whose HEAD points to a branch like an option executes nothing', async (t) => {
      const bench = await setUp(t, engine);
      const made = commit(bench.repository, 'main', { a: 'a' });
      writeFileSync(join(bench.repository, 'packed-refs'), `${made} refs/heads/-x\n`, { flag: 'a' });
      writeFileSync(join(bench.repository, 'HEAD'), 'ref: refs/heads/-x\n');
      await bench.prepare();
      assert.ok(!bench.isSprung());
      assert.equal((await bench.prepare({ branch: 'main' })).outcome, 'ready');
    });
  });
}

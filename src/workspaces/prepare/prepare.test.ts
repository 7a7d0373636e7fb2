import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commit, git, startGitServer } from '../../../test/support/gitServer.ts';
import { listenOnLoopback } from '../../../test/support/mcpServer.ts';
import { until, watch } from '../../../test/support/until.ts';
import {
  createWorkspaceBench,
  everythingIn,
  remoteAt,
  workspaceSandboxes,
} from '../../../test/support/workspaceBench.ts';
import type { SandboxEngine } from '../../sandbox/sandbox.ts';

const token = 'ghp_hunter2hunter2';
const credential = `x-access-token:${token}`;

/** The command lines of all processes that can be seen. */
function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    });
}

async function setUp(t: TestContext, engine: SandboxEngine, files: Parameters<typeof commit>[2]) {
  const server = await startGitServer(t, { credential });
  const repository = server.repository('ada/app');
  commit(repository, 'main', files);
  const remote = remoteAt(server.url, 'ada/app');
  const bench = await createWorkspaceBench(t, { engine, remote, token });
  const inWorkspace = (path: string) => join(bench.folders.workspace, path);
  return { ...bench, server, repository, remote, inWorkspace };
}

for (const engine of workspaceSandboxes) {
  describe(`a workspace in the ${engine.kind} sandbox`, () => {
    it('is a clone of the repository at its default branch', async (t) => {
      const { prepare, inWorkspace, progress, asAgent, remote } = await setUp(t, engine, {
        'README.md': 'hello\n',
        'src/a.ts': 'export {};\n',
      });
      assert.deepEqual(await prepare(), {
        outcome: 'ready',
        setupFailure: undefined,
      });
      assert.equal(readFileSync(inWorkspace('README.md'), 'utf8'), 'hello\n');
      assert.equal(readFileSync(inWorkspace('src/a.ts'), 'utf8'), 'export {};\n');
      assert.equal(progress[0], 'Cloning the repository');
      assert.ok(
        progress.some((text) => /^Receiving objects \d+ %$/.test(text)),
        progress.join(),
      );
      const { stdout } = await asAgent('git config remote.origin.url; git status --porcelain');
      assert.equal(stdout.toString(), `${remote.url}\n`);
    });

    it('is at the selected branch', async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      commit(bench.repository, 'fix/ünïcode-1', { a: 'fix' });
      const prepared = await bench.prepare({ branch: 'fix/ünïcode-1' });
      assert.equal(prepared.outcome, 'ready');
      assert.equal(git(bench.folders.workspace, ['symbolic-ref', '--short', 'HEAD']), 'fix/ünïcode-1');
      assert.equal(readFileSync(bench.inWorkspace('a'), 'utf8'), 'fix');
    });

    it('lets the agent push a branch, under the identity of the settings', async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      await bench.prepare();
      const pushed = await bench.asAgent(
        'git switch -qc mine && echo more >> a && git commit -qam "more" && git push -q -u origin mine',
      );
      assert.equal(pushed.code, 0, pushed.stderr.toString());
      const told = git(bench.repository, ['log', '-1', '--format=%an <%ae> %s', 'mine']);
      assert.equal(told, 'Ada <ada@example.com> more');
      const fetched = await bench.asAgent('git fetch -q && git log --oneline origin/mine | wc -l');
      assert.equal(fetched.stdout.toString().trim(), '2');
    });

    it('pushes more than git sends in one piece', async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      await bench.prepare();
      const pushed = await bench.asAgent(
        'git switch -qc big && head -c 5000000 /dev/urandom > big && git add big && git commit -qm big && git push -q origin big',
      );
      assert.equal(pushed.code, 0, pushed.stderr.toString());
      assert.equal(git(bench.repository, ['cat-file', '-s', 'big:big']), '5000000');
    });

    it("keeps the user's token out: no file, no environment, no argv, no progress", async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      await bench.prepare();
      const seen = await bench.asAgent(
        'git push -q origin HEAD:mine; env; cat .git/config; tr "\\0" " " < /proc/self/cmdline',
      );
      const all = [
        everythingIn(bench.folders.root),
        bench.progress.join('\n'),
        seen.stdout.toString(),
        seen.stderr.toString(),
      ].join('\n');
      for (const secret of [token, Buffer.from(credential).toString('base64')])
        assert.ok(!all.includes(secret));
      assert.ok(!everythingIn(bench.folders.root).includes(bench.bridge.token));
    });

    it('shows no token among the processes of the machine while git runs', async (t) => {
      const hung = await listenOnLoopback(t, () => {});
      const bench = await createWorkspaceBench(t, { engine, remote: remoteAt(hung.url, 'ada/app'), token });
      const stop = new AbortController();
      const preparing = watch(bench.prepare({ signal: stop.signal }));
      await until('the host was asked', () => hung.requests.length > 0);
      const lines = commandLines();
      stop.abort();
      await preparing.promise;
      assert.ok(lines.some((line) => line.includes('clone')));
      for (const secret of [token, bench.bridge.token])
        assert.deepEqual(
          lines.filter((line) => line.includes(secret)),
          [],
        );
    });

    it('is kept once it is complete', async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      await bench.prepare();
      writeFileSync(bench.inWorkspace('a'), 'changed');
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.equal(readFileSync(bench.inWorkspace('a'), 'utf8'), 'changed');
    });

    it('is created again if an earlier run left half of it', async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      mkdirSync(bench.inWorkspace('.git/objects'), { recursive: true });
      writeFileSync(bench.inWorkspace('.git/config.lock'), '');
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.equal(readFileSync(bench.inWorkspace('a'), 'utf8'), 'main');
      assert.ok(!existsSync(bench.inWorkspace('.git/config.lock')));
    });

    it('is an empty repository if the conversation has none', async (t) => {
      const bench = await createWorkspaceBench(t, { engine });
      const prepared = await bench.prepare();
      assert.deepEqual(prepared, { outcome: 'ready', setupFailure: undefined });
      assert.ok(lstatSync(join(bench.folders.workspace, '.git')).isDirectory());
    });

    it('clones a repository without a single commit', async (t) => {
      const server = await startGitServer(t);
      server.repository('ada/empty');
      const bench = await createWorkspaceBench(t, { engine, remote: remoteAt(server.url, 'ada/empty') });
      const prepared = await bench.prepare();
      assert.equal(prepared.outcome, 'ready', JSON.stringify(prepared));
    });

    it('clones from a server without partial clones', async (t) => {
      const bench = await setUp(t, engine, { a: 'main' });
      git(bench.repository, ['config', 'uploadpack.allowFilter', 'false']);
      assert.equal((await bench.prepare()).outcome, 'ready');
      assert.equal(readFileSync(bench.inWorkspace('a'), 'utf8'), 'main');
    });

    it('ends when it is aborted, and does not count as complete', async (t) => {
      const hung = await listenOnLoopback(t, () => {});
      const bench = await createWorkspaceBench(t, { engine, remote: remoteAt(hung.url, 'ada/app') });
      const stop = new AbortController();
      const preparing = watch(bench.prepare({ signal: stop.signal }));
      await until('the host was asked', () => hung.requests.length > 0);
      assert.equal(preparing.settled(), false);
      stop.abort('stop');
      assert.deepEqual(await preparing.promise, {
        outcome: 'failed',
        sentence: 'The conversation was stopped while its workspace was prepared.',
      });
      assert.ok(!existsSync(bench.folders.readyMark));
    });
  });

  describe(`the setup script in the ${engine.kind} sandbox`, () => {
    const script = (text: string) => ({ '.openhands/setup.sh': text });

    it('runs once, with the repository around it', async (t) => {
      const bench = await setUp(t, engine, {
        ...script('git log -1 --format=%s >> made; yes | head -c 3000000'),
      });
      const prepared = await bench.prepare();
      assert.equal(prepared.outcome === 'ready' && prepared.setupFailure, undefined);
      assert.ok(bench.progress.includes('Running .openhands/setup.sh'));
      await bench.prepare();
      assert.equal(readFileSync(bench.inWorkspace('made'), 'utf8'), 'made by a test\n');
    });

    it('is reported if it fails, and the workspace is ready anyway', async (t) => {
      const bench = await setUp(t, engine, script('echo out; echo wrong >&2; exit 3'));
      const prepared = await bench.prepare();
      assert.ok(prepared.outcome === 'ready' && prepared.setupFailure !== undefined);
      assert.equal(prepared.setupFailure.sentence, '.openhands/setup.sh failed with code 3.');
      assert.match(prepared.setupFailure.output, /wrong/);
      const again = await bench.prepare();
      assert.equal(again.outcome === 'ready' && again.setupFailure, undefined);
    });

    it('does not run if nothing would confine it, and that is reported', async (t) => {
      const bench = await setUp(t, engine, script('touch began'));
      const prepared = await bench.prepare({ setupRefusal: 'no sandbox would confine it' });
      assert.ok(prepared.outcome === 'ready');
      assert.match(prepared.setupFailure?.sentence ?? '', /^\.openhands\/setup\.sh was not run, because/);
      assert.ok(!existsSync(bench.inWorkspace('began')));
    });

    it('is ended at its timeout', async (t) => {
      const bench = await setUp(t, engine, script('touch began; sleep 1000'));
      const prepared = await bench.prepare({ times: { setupMs: 500 } });
      assert.ok(prepared.outcome === 'ready');
      assert.equal(prepared.setupFailure?.sentence, '.openhands/setup.sh was ended after 0.5 s.');
      assert.ok(existsSync(bench.inWorkspace('began')));
    });
  });
}

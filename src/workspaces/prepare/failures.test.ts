import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { commit, startGitServer } from '../../../test/support/gitServer.ts';
import { listenOnLoopback } from '../../../test/support/mcpServer.ts';
import { createWorkspaceBench, remoteAt, workspaceSandboxes } from '../../../test/support/workspaceBench.ts';
import type { GitRemote } from '../../git/remote.ts';
import { cloneFailure } from './cloneFailure.ts';
import type { PrepareOptions } from './prepare.ts';

const token = 'ghp_hunter2hunter2';
const credential = `x-access-token:${token}`;

for (const engine of workspaceSandboxes) {
  describe(`a workspace that cannot be prepared in the ${engine.kind} sandbox`, () => {
    async function failureOf(
      t: TestContext,
      remote: GitRemote,
      { sent = token as string | null, ...more }: Partial<PrepareOptions> & { sent?: string | null } = {},
    ): Promise<string> {
      const bench = await createWorkspaceBench(t, { engine, remote, token: sent });
      const prepared = await bench.prepare(more);
      assert.equal(prepared.outcome, 'failed');
      assert.ok(!existsSync(bench.folders.readyMark));
      const sentence = prepared.outcome === 'failed' ? prepared.sentence : '';
      assert.ok(!sentence.includes('hunter2'));
      return sentence.replaceAll(new URL(remote.origin).host, 'HOST');
    }

    async function serve(t: TestContext): Promise<string> {
      const server = await startGitServer(t, { credential });
      commit(server.repository('ada/app'), 'main', { a: 'main' });
      return server.url;
    }

    it('reports that the token is not accepted', async (t) => {
      const remote = remoteAt(await serve(t), 'ada/app');
      const sentence = 'HOST does not allow the token in your settings to read ada/app.';
      assert.equal(await failureOf(t, remote, { sent: 'ghp_wrong' }), sentence);
      assert.equal(
        await failureOf(t, remote, { sent: null }),
        'HOST requires an access token for ada/app, and no github token is set in your settings. Store one there, and try again.',
      );
    });

    it('reports that there is no such repository, or no access to it', async (t) => {
      const sentence = 'HOST has no repository ada/nothing that the token in your settings can access.';
      assert.equal(await failureOf(t, remoteAt(await serve(t), 'ada/nothing')), sentence);
    });

    it('reports that there is no such branch', async (t) => {
      const remote = remoteAt(await serve(t), 'ada/app');
      assert.equal(await failureOf(t, remote, { branch: 'gone' }), 'There is no branch "gone" in ada/app.');
    });

    it('never treats a branch as an option or as something else', async (t) => {
      const remote = remoteAt(await serve(t), 'ada/app');
      for (const branch of ['--upload-pack=touch /tmp/x', '-b', 'a..b', 'a b', 'x.lock', 'a\nb', '', '@{-1}'])
        assert.equal(await failureOf(t, remote, { branch }), 'The branch name is not valid in Git.');
    });

    it('reports that the host cannot be reached', async (t) => {
      const closed = await listenOnLoopback({ after: (close) => void closing.push(close) }, () => {});
      for (const close of closing) await close();
      assert.equal(
        await failureOf(t, remoteAt(closed.url, 'ada/app')),
        'HOST cannot be reached. It does not accept connections.',
      );
    });
    const closing: (() => Promise<void>)[] = [];

    it('reports that the address is not allowed', async (t) => {
      const url = await serve(t);
      const sentence = await failureOf(t, remoteAt(url, 'ada/app', { namedByOperator: false }));
      assert.match(sentence, /^HOST cannot be reached\. Its address is /);
    });

    it('follows no redirect', async (t) => {
      const target = await serve(t);
      const redirecting = await listenOnLoopback(t, (request, response) => {
        response.writeHead(301, { location: `${target}${request.url}` }).end();
      });
      const sentence = await failureOf(t, remoteAt(redirecting.url, 'ada/app'));
      assert.match(sentence, /^HOST returned a redirect, which is not followed\./);
    });

    it('reports an error of the host', async (t) => {
      const failing = await listenOnLoopback(t, (_, response) => {
        response.writeHead(500).end('secret details');
      });
      assert.equal(await failureOf(t, remoteAt(failing.url, 'ada/app')), 'HOST failed (500).');
    });

    it('ends at its deadline', async (t) => {
      const hung = await listenOnLoopback(t, () => {});
      const sentence = await failureOf(t, remoteAt(hung.url, 'ada/app'), { times: { cloneMs: 300 } });
      assert.equal(sentence, 'Cloning ada/app took longer than 0.3 s.');
    });

    it('does not treat a web page as a repository', async (t) => {
      const odd = await listenOnLoopback(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>');
      });
      assert.equal(
        await failureOf(t, remoteAt(odd.url, 'ada/app')),
        'HOST does not respond like a Git host.',
      );
    });

    it('quotes git if nothing else is known', async (t) => {
      const odd = await listenOnLoopback(t, (_, response) => {
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).end('x');
      });
      assert.match(await failureOf(t, remoteAt(odd.url, 'ada/app')), /^Cloning ada\/app failed: .*\.$/);
    });
  });
}

describe('the reason of a failed clone', () => {
  const clone = { path: 'ada/app', branch: 'main', timeoutMs: 1_000, fault: undefined };
  const ended = { code: 128, signal: null, bound: undefined, stdout: Buffer.alloc(0) };

  it('reports a full disk', () => {
    const stderr = Buffer.from('fatal: write error: No space left on device\nfatal: index-pack failed\n');
    assert.equal(
      cloneFailure({ ...ended, stderr }, clone),
      'There is no space left for ada/app on this machine.',
    );
  });

  it('reports too little memory, also if git was killed for it', () => {
    const said = (text: string, more: object = {}) =>
      cloneFailure({ ...ended, stderr: Buffer.from(text), ...more }, clone);
    const sentence = 'ada/app needs more memory to be cloned than a sandbox may have.';
    assert.equal(said('fatal: Out of memory, malloc failed\nfatal: index-pack failed\n'), sentence);
    assert.equal(said('error: index-pack died of signal 9\n'), sentence);
    const killed =
      'Cloning ada/app was killed, most likely because it needed more memory than a sandbox may have.';
    assert.equal(said('', { code: 137 }), killed);
    assert.equal(said('', { code: null, signal: 'SIGKILL' }), killed);
  });

  it('reports that the container could not be started, and which image is missing', () => {
    const failure = (text: string, code = 125) =>
      cloneFailure({ ...ended, code, stderr: Buffer.from(text) }, clone);
    const missing = "Unable to find image 'own:1' locally\n";
    assert.equal(
      failure(`${missing}docker: Error response from daemon: no such host.\nSee 'docker run --help'.\n`),
      'A container of own:1, which is not on this machine, could not be started: no such host.',
    );
    assert.equal(
      failure('docker: Error response from daemon: Unknown runtime specified x.\n'),
      'The container could not be started: Unknown runtime specified x.',
    );
    assert.doesNotMatch(failure('docker: Error response from daemon: no.\n', 1), /container/);
  });

  it('reports that git is missing', () => {
    const stderr = Buffer.alloc(0);
    assert.equal(
      cloneFailure({ ...ended, code: 127, stderr }, clone),
      'Git is not installed where agents run.',
    );
  });

  it('quotes the last message of git, truncated and without control characters', () => {
    const stderr = Buffer.from(`fatal: \u001b[31m${'x'.repeat(1_000)}\n`);
    const sentence = cloneFailure({ ...ended, stderr }, clone);
    assert.match(sentence, /^Cloning ada\/app failed: {2}\[31mx+\.$/);
    assert.ok(sentence.length < 400);
  });
});

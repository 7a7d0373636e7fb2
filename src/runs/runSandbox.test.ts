// What confines a run: which sandbox it gets, why it gets none, and what a hostile agent finds in there.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createStorage } from '../../test/support/databases.ts';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import { fakeAgentPath, startRuns } from '../../test/support/runs.ts';
import { approvalRequest, ending, shell } from '../../test/support/runTalk.ts';
import { noBubblewrap, temporaryFolder } from '../../test/support/sandboxes.ts';

/** No program is found in PATH but the fake agent. */
function hidePrograms(t: TestContext): void {
  const before = process.env['PATH'];
  process.env['PATH'] = fakeAgentPath();
  t.after(() => {
    process.env['PATH'] = before;
  });
}

const absent = 'bubblewrap (bwrap) is not installed, and docker is not installed';

describe('a run without a sandbox', () => {
  it('is refused if there is a second user, and so is reading its files', async (t) => {
    const runs = await startRuns({ sandbox: 'process' }, t);
    const before = await runs.create('edit a.txt a');
    await runs.turns(before, 1);
    await runs.service.ask('/api/keys', { json: { name: 'k', user: 'eve' } });
    const { code, message } = await ending(runs, await runs.create('say hello'));
    assert.equal(code, 'no_sandbox');
    assert.equal(
      message,
      'PARLEY_SANDBOX=process is no boundary between users, and there is more than one: it needs bubblewrap, docker or kubernetes.',
    );
    const { status, body } = await runs.service.ask(`/api/conversations/${before}/list-files`);
    assert.deepEqual([status, body.code, body.error], [503, 'no_sandbox', message]);
  });

  it('is refused for agents that are not built in, if nothing else works', async (t) => {
    hidePrograms(t);
    const runs = await startRuns({ sandbox: 'auto' }, t);
    const { code, message } = await ending(runs, await runs.create('say hello'));
    assert.deepEqual(
      [code, message],
      ['no_sandbox', 'Without a sandbox only the built-in agent may run, not fake.'],
    );
  });

  it('makes the built-in agent ask before it acts, whatever the settings say', async (t) => {
    hidePrograms(t);
    const storage = await createStorage('sqlite');
    t.after(() => storage.remove());
    const programs = [{ command: 'parley-fake-agent', args: [], env: {} }];
    const agents = [{ id: 'builtin', name: 'Built in', protocol: 'openai-chat', asks: 'all', programs }];
    writeFileSync(join(storage.dataDir, 'agents.json'), JSON.stringify({ agents }));
    const settings = { agent: null, confirmation_mode: false };
    const runs = await startRuns({ storage, sandbox: 'auto', settings }, t);
    const id = await runs.create('ask read notes\nask execute deploy');
    const { action } = await approvalRequest(runs, id);
    assert.equal(action, 'run');
    await runs.service.ask(`/api/conversations/${id}/confirm`, { json: { decision: 'reject' } });
    assert.deepEqual(await runs.turns(id, 1), ['the answer was once', 'the answer was no']);
  });

  it('is refused if the operator wants a sandbox that is not available', async (t) => {
    hidePrograms(t);
    const runs = await startRuns({ sandbox: 'bubblewrap' }, t);
    const { code, message } = await ending(runs, await runs.create('say hello'));
    assert.deepEqual(
      [code, message],
      ['no_sandbox', 'There is no sandbox to run it in: bubblewrap (bwrap) is not installed.'],
    );
    assert.ok(runs.service.logs().includes('Agents cannot run: bubblewrap (bwrap) is not installed.'));
  });

  it('is refused on a machine that others can reach', async (t) => {
    hidePrograms(t);
    const env = { HOST: '0.0.0.0', PARLEY_ALLOWED_HOSTS: '0.0.0.0' };
    const runs = await startRuns({ sandbox: 'auto', env }, t);
    const { message } = await ending(runs, await runs.create('say hello'));
    assert.equal(message, `There is no sandbox to run it in: ${absent}; install bubblewrap.`);
  });
});

describe('the image of a sandbox', () => {
  it('must be one that the operator allows', async (t) => {
    const settings = { sandbox_runtime_container_image: 'evil.example/image:latest' };
    const runs = await startRuns({ settings, env: { PARLEY_SANDBOX_IMAGES: 'good.example/image' } }, t);
    const { code, message } = await ending(runs, await runs.create('say hello'));
    assert.deepEqual(
      [code, message],
      [
        'no_sandbox',
        'The image in your settings (sandbox_runtime_container_image) is not among those that the operator allows.',
      ],
    );
  });
});

/** One line of JavaScript: tells for each URL how a request for it ended. */
const probe = [
  'for (const url of process.argv.slice(2))',
  'await fetch(url, { signal: AbortSignal.timeout(9000) })',
  '.then((r) => r.status, (e) => String(e.cause?.message ?? e.message))',
  '.then((how) => console.log(how));',
].join(' ');

describe('a hostile agent in bubblewrap', { skip: noBubblewrap }, () => {
  it('finds no file of the service, of other conversations or of the host, and no process', async (t) => {
    const runs = await startRuns({ sandbox: 'bubblewrap' }, t);
    const { dataDir } = runs.service.storage;
    const other = await runs.create('edit treasure.txt gold');
    await runs.turns(other, 1);
    const id = await runs.create('say ready');
    await runs.turns(id, 1);
    let turn = 1;
    const sh = (command: string) => shell(runs, id, ++turn, `{ ${command}; } 2>&1`);
    const hidden = [dataDir, `${dataDir}/conversations`, temporaryFolder(t), '/root'];
    assert.match(await sh(`ls ${hidden.join(' ')}`), /^(ls: .*No such file or directory\n){4}$/);
    const pruned = '-path /usr -prune -o -path /proc -prune';
    assert.equal(await sh(`find / ${pruned} -o -name 'treasure*' -print 2>/dev/null`), '');
    assert.match(await sh('touch /usr/x /etc/x /x'), /^(touch: .*Read-only file system\n){3}$/);
    assert.match(await sh('cat /etc/shadow'), /No such file/);
    const processes = await sh(`cat /proc/[0-9]*/cmdline | tr '\\0' ' '`);
    assert.ok(processes.includes('parley-fake-agent') && !processes.includes('test/run.ts'), processes);
    assert.match(await sh(`kill -9 ${process.pid}`), /No such process/i);
    assert.doesNotMatch(await sh('unshare -Ur echo free'), /^free$/m);
  });

  it('reaches nothing on this machine or its network, directly or through the proxy', async (t) => {
    const neighbour = await listenOnLoopback(t, (_, response) => response.end('reached'));
    const env = { PARLEY_ALLOW_PRIVATE_ADDRESSES: '1' };
    const runs = await startRuns({ sandbox: 'bubblewrap', env }, t);
    const id = await runs.create(`edit probe.mjs ${probe}`);
    await runs.turns(id, 1);
    const { port } = new URL(neighbour.url);
    const urls = [neighbour.url, `http://localhost:${port}`, `http://[::1]:${port}`, runs.service.url].join(
      ' ',
    );
    const direct = await shell(runs, id, 2, `/opt/parley/node probe.mjs ${urls}`);
    assert.match(direct, /^(.*(ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH).*\n){4}$/);
    const linkLocal = 'http://169.254.169.254/latest/meta-data http://[fe80::1]/';
    const unset = 'NO_PROXY= no_proxy=';
    const proxied = await shell(runs, id, 3, `${unset} /opt/parley/node probe.mjs ${urls} ${linkLocal}`);
    assert.match(proxied, /^(.*403.*\n){6}$/);
    assert.equal(neighbour.requests.length, 0);
    const bridge = await shell(runs, id, 4, `/opt/parley/node probe.mjs http://127.0.0.1:3128/mcp/0`);
    assert.equal(bridge, '401\n', 'the probe can reach what is there');
  });
});

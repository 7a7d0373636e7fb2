// A hostile agent in a sandbox: what it must not see, reach, write or take, in bubblewrap, containers and pods.
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { createBridge } from '../../src/bridge/bridge.ts';
import { createEgress } from '../../src/bridge/egress.ts';
import { bridgeEnvironment } from '../../src/bridge/environment.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { listenOnLoopback } from './mcpServer.ts';
import {
  commandLines,
  openTestSandbox,
  runShell,
  temporaryFolder,
  tryTheProxy,
  tryToConnect,
} from './sandboxes.ts';
import { until } from './until.ts';

export interface Confinement {
  readonly engine: () => SandboxEngine;
  /** The path of Node inside. */
  readonly node: string;
  readonly userId: number;
  /** What the sandbox is called inside; `parley` by default. */
  readonly hostName?: string;
  /** Files of the host that other sandboxes may have a file of their own for. */
  readonly hostFiles: readonly string[];
  /** How many processes a shell sees that lists them. */
  readonly visibleProcessesMax: number;
  /** Folders that must not be writable, beside those that are in every sandbox. */
  readonly protectedFolders?: readonly string[];
  /** The limit on processes with a resource factor; or why the test is skipped. */
  readonly processes: { readonly resourceFactor: number; readonly max: number } | string;
  /** Why the test of the memory limit is skipped. */
  readonly noMemoryLimit?: string | false;
  /** Why it is not tested that the sandbox has no network of its own. */
  readonly hasNetwork?: string | false;
}

const gib = 1_024 ** 3;
/** Of the test of memory. gVisor itself needs up to half of that. */
const memoryFactor = 1 / 8;
const folders =
  '/ /usr /usr/bin /etc /opt /opt/parley /run /var /home /proc/sys/kernel /workspace /home/agent /tmp /dev/shm';

/** Its tests belong to the `describe` that calls it. */
export function testHostileAgent(confinement: Confinement): void {
  const { engine, node, userId, hostFiles, processes } = confinement;
  const {
    hostName = 'parley',
    hasNetwork = false,
    noMemoryLimit = false,
    protectedFolders = [],
  } = confinement;
  const open = (t: TestContext, options: Parameters<typeof openTestSandbox>[2] = {}) =>
    openTestSandbox(t, engine(), options);

  /** A sandbox in which programs of Node are told of the bridge by TOKEN. */
  async function openBridged(t: TestContext) {
    const bridge = createBridge({ handlers: {}, egress: createEgress({ allowPrivate: () => true }) });
    const { open: sandbox } = await open(t, { bridge, spec: { readable: [node] } });
    const token = Buffer.from(`run:${bridge.token}`).toString('base64');
    return (program: string, env: Record<string, string>) =>
      runShell(sandbox, `${node} -e "$PROGRAM"`, { PROGRAM: program, TOKEN: token, ...env });
  }

  it('cannot read files of the host', async (t) => {
    const secret = join(temporaryFolder(t), 'secret');
    writeFileSync(secret, 'canary');
    const { open: sandbox, spec } = await open(t);
    const files = [secret, import.meta.filename, dirname(spec.home), ...hostFiles];
    const { stdout } = await runShell(
      sandbox,
      `for file in ${files.join(' ')}; do [ -e "$file" ] && echo "$file"; done; echo done`,
    );
    assert.equal(stdout, 'done\n');
  });

  it('sees no process of the host, and no name of it', async (t) => {
    const { open: sandbox } = await open(t);
    const { stdout } = await runShell(
      sandbox,
      `ls /proc | grep -c "^[0-9]"; kill -0 ${process.pid} 2>/dev/null && echo alive; uname -n`,
    );
    const [count = '', ...rest] = stdout.split('\n');
    // gVisor lists none.
    assert.ok(/^\d+$/.test(count) && Number(count) <= confinement.visibleProcessesMax, stdout);
    assert.deepEqual(rest, [hostName, '']);
  });

  it('can write only workspace, home and temporary files', async (t) => {
    const { open: sandbox } = await open(t, { bridge: createBridge({ handlers: {} }) });
    const { stdout } = await runShell(
      sandbox,
      `for folder in ${[...protectedFolders, folders].join(' ')}; do touch $folder/x 2>/dev/null && echo $folder; done; true`,
    );
    assert.equal(stdout, '/workspace\n/home/agent\n/tmp\n/dev/shm\n');
  });

  it('cannot change the kernel', async (t) => {
    const { open: sandbox } = await open(t);
    const files =
      '/proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger /sys/kernel/profiling';
    const { stdout } = await runShell(
      sandbox,
      `for file in ${files}; do (: >>$file) 2>/dev/null && echo $file; done; mount -t tmpfs x /tmp 2>/dev/null && echo mounted; echo done`,
    );
    assert.equal(stdout, 'done\n');
  });

  it('has no capabilities', async (t) => {
    const { open: sandbox } = await open(t);
    const { stdout } = await runShell(sandbox, 'grep -E "^(CapEff|CapBnd)" /proc/self/status; id -u');
    assert.equal(stdout, `CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n${userId}\n`);
  });

  it('cannot affect the programs that create it through its environment, and shows no value of it', async (t) => {
    const folder = temporaryFolder(t);
    const { open: sandbox } = await open(t, { bridge: createBridge({ handlers: {} }) });
    const env = { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(folder, 'trace'), CANARY: 'value-of-a-secret' };
    const running = await sandbox.start({ argv: ['sh', '-c', 'echo "$CANARY"; exec sleep 1000'], env });
    let stdout = '';
    running.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
    await until('it has the variable', () => stdout.includes('value-of-a-secret\n'));
    assert.ok(!commandLines().some((line) => line.includes('value-of-a-secret')));
    assert.deepEqual(readdirSync(folder), []);
    await running.kill();
  });

  it("does not reach the host's loopback interface", async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('reached'));
    const run = await openBridged(t);
    const { port } = new URL(server.url);
    assert.equal((await run(tryToConnect, { AT: `127.0.0.1 ${port}` })).stdout, 'ECONNREFUSED\n');
    assert.equal(server.requests.length, 0);
  });

  it('reaches neither private, link-local nor public addresses by itself', {
    skip: hasNetwork,
  }, async (t) => {
    const run = await openBridged(t);
    for (const at of ['169.254.169.254 80', '10.0.0.1 80', '1.1.1.1 443'])
      assert.match((await run(tryToConnect, { AT: at })).stdout, /^E(NET|HOST)UNREACH\n$/, at);
  });

  it('reaches neither the host nor link-local addresses through the bridge, even if private ones are allowed', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('reached'));
    const { port } = new URL(server.url);
    const run = await openBridged(t);
    for (const at of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      '169.254.169.254:80',
    ])
      assert.equal((await run(tryTheProxy, { AT: at })).stdout, 'HTTP/1.1 403 Forbidden\n', at);
    assert.equal(server.requests.length, 0);
  });

  it('is refused by the proxy without the token', async (t) => {
    const run = await openBridged(t);
    const { stdout } = await run(tryTheProxy, { AT: '1.1.1.1:443', TOKEN: 'cnVuOmd1ZXNzZWQ=' });
    assert.equal(stdout, 'HTTP/1.1 407 Proxy Authentication Required\n');
  });

  it('reaches other servers by the proxy variables, with Node and with curl', async (t) => {
    const server = await listenOnLoopback(
      t,
      (request, response) => void response.end(`hello ${request.url}`),
    );
    const egress = createEgress({
      allowPrivate: () => true,
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
      isOffLimits: () => false,
    });
    const bridge = createBridge({ handlers: {}, egress });
    const { open: sandbox } = await open(t, { bridge, spec: { readable: [node] } });
    const url = `http://elsewhere.example:${new URL(server.url).port}`;
    const { stdout, stderr } = await runShell(
      sandbox,
      `${node} -e "fetch('${url}/node').then(async (answer) => console.log(await answer.text()))"
      if command -v curl >/dev/null; then curl -s ${url}/curl; else printf 'hello /curl'; fi`,
      bridgeEnvironment({ origin: sandbox.bridge?.origin ?? '', token: bridge.token }),
    );
    assert.equal(stdout, 'hello /node\nhello /curl', stderr);
  });

  it('cannot start more processes than allowed', {
    skip: typeof processes === 'string' && processes,
  }, async (t) => {
    if (typeof processes === 'string') return;
    const { resourceFactor, max } = processes;
    const { open: sandbox } = await open(t, { spec: { resourceFactor } });
    // It asks for three times as many. All of them end with the sandbox.
    const { stdout } = await runShell(
      sandbox,
      `(for i in $(seq ${3 * max}); do sleep 1000 & echo started; done); true`,
    );
    const started = stdout.split('\n').length - 1;
    assert.ok(started > 0 && started < max, `${started} of ${max}`);
  });

  it('cannot use more memory than allowed', { skip: noMemoryLimit }, async (t) => {
    const { open: sandbox } = await open(t, { spec: { resourceFactor: memoryFactor } });
    // It reads a block of this size at once.
    const read = (bytes: number) =>
      runShell(sandbox, `exec dd if=/dev/zero of=/dev/null bs=${bytes} count=1`);
    const modest = await read(gib / 32);
    assert.equal(modest.code, 0, modest.stderr);
    assert.notEqual((await read(gib)).code, 0);
  });

  it('cannot write files or temporary files without limit', async (t) => {
    const { open: sandbox } = await open(t);
    const { stdout } = await runShell(
      sandbox,
      'for at in /workspace /tmp /dev/shm; do truncate -s 5G $at/x 2>/dev/null && echo $at; rm -f $at/x; done; ulimit -c',
    );
    assert.equal(stdout, '0\n');
  });
}

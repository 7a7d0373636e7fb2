// The Docker sandbox with a real engine, and with gVisor as its runtime where that is installed: what a hostile agent must
// not see, reach, write or take, and that nothing of it is left.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createBridge } from '../../src/bridge/bridge.ts';
import { createEgress } from '../../src/bridge/egress.ts';
import { bridgeEnvironment } from '../../src/bridge/environment.ts';
import { createDocker } from '../../src/sandbox/docker.ts';
import { limitsOf } from '../../src/sandbox/limits.ts';
import type { OpenSandbox } from '../../src/sandbox/openSandbox.ts';
import { probeDocker } from '../../src/sandbox/probe.ts';
import { parleyImage } from '../support/dockerImages.ts';
import { listenOnLoopback } from '../support/mcpServer.ts';
import {
  commandLines,
  hiddenFolder,
  openTestSandbox,
  runShell,
  temporaryFolder,
  tryTheProxy,
  tryToConnect,
} from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { engine, skip } from './setup.ts';

const node = process.execPath;
const runtimes = skip === false && engine().hasGvisor ? ([undefined, 'runsc'] as const) : [undefined];

/** The containers of a sandbox, running or not. */
async function containersOf({ name }: { readonly name: string }, format = '{{.ID}}'): Promise<string[]> {
  const filter = ['--filter', `label=parley.sandbox=${name}`];
  const ids = await engine().docker('ps', '--all', ...filter, '--format', format);
  return ids.split('\n').filter(Boolean);
}

for (const runtime of runtimes)
  describe(`a container${runtime === undefined ? '' : ' in gVisor'}`, { skip }, () => {
    const docker = (hidden: readonly string[] = []) =>
      createDocker({ command: 'docker', image: parleyImage, runtime, hidden });
    const open = (t: TestContext, options: Parameters<typeof openTestSandbox>[2] = {}) =>
      openTestSandbox(t, docker([hiddenFolder]), options);

    /** A sandbox in which programs of Node are told of the bridge by TOKEN. */
    async function openBridged(t: TestContext) {
      const bridge = createBridge({ handlers: {}, egress: createEgress({ allowPrivate: () => true }) });
      const { open: sandbox } = await open(t, { bridge, spec: { readable: [node] } });
      const token = Buffer.from(`run:${bridge.token}`).toString('base64');
      return (program: string, env: Record<string, string>) =>
        runShell(sandbox, `${node} -e "$PROGRAM"`, { PROGRAM: program, TOKEN: token, ...env });
    }

    it('is found to work, with the image and the runtime', async (t) => {
      const folder = temporaryFolder(t);
      const probed = await probeDocker({ create: () => docker(), image: parleyImage, folder });
      assert.ok('engine' in probed, JSON.stringify(probed));
    });

    it('forwards input, output, errors and the exit code', async (t) => {
      const { open: sandbox } = await open(t);
      const started = await sandbox.start({ argv: ['sh', '-c', 'cat; echo two >&2; exit 9'], env: {} });
      started.stdin.end('one');
      const [stdout, stderr] = await Promise.all([
        started.stdout.setEncoding('utf8').toArray(),
        started.stderr.setEncoding('utf8').toArray(),
      ]);
      assert.deepEqual([stdout.join(''), stderr.join(''), (await started.ended).code], ['one', 'two\n', 9]);
    });

    it('reports that there is no such program', async (t) => {
      const { open: sandbox } = await open(t);
      const { code, stderr } = await runShell(sandbox, 'exec no-such-program');
      assert.equal(code, 127);
      assert.match(stderr, /no-such-program/);
    });

    it('reports what is missing on the host', async (t) => {
      const { open: sandbox } = await open(t, { spec: { readable: ['/no/such/file'] } });
      const { code, stderr } = await runShell(sandbox, 'true');
      assert.equal(code, 125);
      assert.match(stderr, /no\/such\/file/);
    });

    it('cannot read files of the host', async (t) => {
      const secret = join(temporaryFolder(t), 'secret');
      writeFileSync(secret, 'canary');
      const { open: sandbox, spec } = await open(t);
      const files = [secret, import.meta.filename, '/var/run/docker.sock', dirname(spec.home)];
      const { stdout } = await runShell(
        sandbox,
        `for file in ${files.join(' ')}; do [ -e "$file" ] && echo "$file"; done; true`,
      );
      assert.equal(stdout, '');
    });

    it('cannot see a hidden folder within a readable one, but what is readable in it', async (t) => {
      const agent = join(hiddenFolder, 'agents/thing');
      mkdirSync(agent, { recursive: true });
      t.after(() => rmSync(hiddenFolder, { recursive: true, force: true }));
      writeFileSync(join(hiddenFolder, 'secret'), 'canary');
      writeFileSync(join(agent, 'program'), 'code');
      const { open: sandbox } = await open(t, { spec: { readable: [dirname(hiddenFolder), agent] } });
      const command = `cat ${agent}/program; echo; ls -A ${hiddenFolder}; touch ${hiddenFolder}/x ${agent}/x`;
      // gVisor does not list what is mounted there.
      assert.match((await runShell(sandbox, command)).stdout, /^code\n(agents\n)?$/);
    });

    it('sees no process of the host, and no name of it', async (t) => {
      const { open: sandbox } = await open(t);
      const { stdout } = await runShell(
        sandbox,
        `ls /proc | grep -c "^[0-9]"; kill -0 ${process.pid} 2>/dev/null && echo alive; uname -n`,
      );
      assert.match(stdout, /^[0-9]\nparley\n$/);
    });

    it('can write only workspace, home and temporary files, which belong to the user of the service', async (t) => {
      const { open: sandbox, spec } = await open(t, { bridge: createBridge({ handlers: {} }) });
      const folders =
        '/ /usr /usr/bin /etc /opt /opt/parley /run /var /home /proc/sys/kernel /workspace /home/agent /tmp /dev/shm';
      const { stdout } = await runShell(
        sandbox,
        `for folder in ${folders}; do touch $folder/x 2>/dev/null && echo $folder; done; true`,
      );
      assert.equal(stdout, '/workspace\n/home/agent\n/tmp\n/dev/shm\n');
      const { uid, gid } = statSync(join(spec.workspace, 'x'));
      assert.deepEqual([uid, gid], [process.getuid?.(), process.getgid?.()]);
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

    it('has no capabilities and can get none', async (t) => {
      const { open: sandbox } = await open(t);
      const { stdout } = await runShell(sandbox, 'grep -E "^(CapEff|CapBnd)" /proc/self/status; id -u');
      assert.equal(stdout, `CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n${process.getuid?.()}\n`);
    });

    it('cannot affect the programs that create it through its environment, and shows no value of it', async (t) => {
      const folder = temporaryFolder(t);
      const { open: sandbox } = await open(t);
      const env = { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(folder, 'trace'), CANARY: 'value-of-a-secret' };
      const running = await sandbox.start({ argv: ['sh', '-c', 'echo "$CANARY"; exec sleep 1000'], env });
      let stdout = '';
      running.stdout.setEncoding('utf8').on('data', (text) => (stdout += text));
      await until('it has the variable', () => stdout.includes('value-of-a-secret\n'));
      assert.ok(!commandLines().some((line) => line.includes('value-of-a-secret')));
      assert.deepEqual(readdirSync(folder), []);
      await running.kill();
    });

    it('reaches nothing by itself: neither the host, nor private, link-local or public addresses', async (t) => {
      const server = await listenOnLoopback(t, (_, response) => void response.end('reached'));
      const run = await openBridged(t);
      for (const at of [
        `127.0.0.1 ${new URL(server.url).port}`,
        '169.254.169.254 80',
        '10.0.0.1 80',
        '1.1.1.1 443',
      ])
        assert.match(
          (await run(tryToConnect, { AT: at })).stdout,
          /^(ECONNREFUSED|E(NET|HOST)UNREACH)\n$/,
          at,
        );
      assert.equal(server.requests.length, 0);
    });

    it('reaches none of them through the bridge, and nothing without its token', async (t) => {
      const run = await openBridged(t);
      for (const at of ['127.0.0.1:80', 'localhost:80', '[::ffff:127.0.0.1]:80', '169.254.169.254:80'])
        assert.equal((await run(tryTheProxy, { AT: at })).stdout, 'HTTP/1.1 403 Forbidden\n', at);
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
        `${node} -e "fetch('${url}/node').then(async (answer) => console.log(await answer.text()))"; curl -s ${url}/curl`,
        bridgeEnvironment({ origin: sandbox.bridge?.origin ?? '', token: bridge.token }),
      );
      assert.equal(stdout, 'hello /node\nhello /curl', stderr);
    });

    it('cannot start more processes than allowed', async (t) => {
      const resourceFactor = 1 / 8;
      const { open: sandbox } = await open(t, { spec: { resourceFactor } });
      const { processesMax } = limitsOf({ resourceFactor });
      // It asks for three times as many. All of them end with the container.
      const { stdout } = await runShell(
        sandbox,
        `(for i in $(seq ${3 * processesMax}); do sleep 1000 & echo started; done); true`,
      );
      const started = stdout.split('\n').length - 1;
      assert.ok(started > 0 && started < processesMax, `${started} of ${processesMax}`);
    });

    it('cannot use more memory than allowed', async (t) => {
      // 512 MiB. gVisor itself needs up to half of that.
      const { open: sandbox } = await open(t, { spec: { resourceFactor: 1 / 8 } });
      // It reads a block of this size at once.
      const read = (size: string) =>
        runShell(sandbox, `exec dd if=/dev/zero of=/dev/null bs=${size} count=1`);
      assert.notEqual((await read('800M')).code, 0);
      const modest = await read('40M');
      assert.equal(modest.code, 0, modest.stderr);
    });

    it('has the CPUs that it is allowed', async (t) => {
      const { open: sandbox, spec } = await open(t, { spec: { resourceFactor: 1 / 4 } });
      const running = await sandbox.start({ argv: ['sleep', '1000'], env: {} });
      const [id = ''] = await until('it runs', async () => {
        const found = await containersOf(spec);
        return found.length > 0 && found;
      });
      const nano = await engine().docker('inspect', '--format', '{{.HostConfig.NanoCpus}}', id);
      assert.equal(nano.trim(), '500000000');
      await running.kill();
    });

    it('cannot write files or temporary files without limit', async (t) => {
      const { open: sandbox } = await open(t);
      const { stdout } = await runShell(
        sandbox,
        'for at in /workspace /tmp /dev/shm; do truncate -s 5G $at/x 2>/dev/null && echo $at; rm -f $at/x; done; ulimit -c',
      );
      assert.equal(stdout, '0\n');
    });

    it('is gone when it is killed, although it outlives its client', async (t) => {
      const { open: sandbox, spec } = await open(t);
      const running = await sandbox.start({ argv: ['sh', '-c', 'echo ready; exec sleep 1000'], env: {} });
      await running.stdout.take(1).toArray();
      assert.equal((await containersOf(spec)).length, 1);
      await running.kill();
      assert.deepEqual(await containersOf(spec), []);
    });

    it('is gone when the sandbox is closed, with all its processes', async (t) => {
      const { open: sandbox, spec } = await open(t);
      const start = (one: OpenSandbox) =>
        one.start({ argv: ['sh', '-c', '(setsid sleep 1000 &) ; echo ready; exec sleep 1000'], env: {} });
      const both = await Promise.all([start(sandbox), start(sandbox)]);
      for (const { stdout } of both) await stdout.take(1).toArray();
      assert.equal((await containersOf(spec)).length, 2);
      await sandbox.close();
      assert.deepEqual(await containersOf(spec), []);
    });
  });

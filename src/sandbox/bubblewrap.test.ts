// A hostile agent in bubblewrap: what it must not see, reach, write or take.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { listenOnLoopback } from '../../test/support/mcpServer.ts';
import {
  bubblewrap,
  cgroups,
  hiddenFolder,
  noBubblewrap,
  openTestSandbox,
  runShell,
  temporaryFolder,
  tryTheProxy,
  tryToConnect,
} from '../../test/support/sandboxes.ts';
import { createBridge } from '../bridge/bridge.ts';
import { createEgress } from '../bridge/egress.ts';
import { bridgeEnvironment } from '../bridge/environment.ts';
import { limitsHold } from './cgroups.ts';
import { limitsOf } from './limits.ts';
import { runToEnd } from './runToEnd.ts';

const node = process.execPath;

/** Runs a program of Node inside; it is told of the bridge by ORIGIN and TOKEN. */
async function runNode(t: TestContext, program: string, env: Record<string, string> = {}) {
  const bridge = createBridge({ handlers: {}, egress: createEgress({ allowPrivate: () => true }) });
  const { open } = await openTestSandbox(t, bubblewrap(), { bridge, spec: { readable: [node] } });
  return runShell(open, `${node} -e "$PROGRAM"`, {
    PROGRAM: program,
    TOKEN: Buffer.from(`run:${bridge.token}`).toString('base64'),
    ...env,
  });
}

describe('a process that bubblewrap cannot start', { skip: noBubblewrap }, () => {
  for (const network of ['with', 'without'] as const) {
    const options = () => (network === 'with' ? { bridge: createBridge({ handlers: {} }) } : {});

    it(`reports that there is no such program, ${network} a bridge`, async (t) => {
      const { open } = await openTestSandbox(t, bubblewrap(), options());
      const program = { argv: ['no-such-program'], env: {} } as const;
      const { code, stderr } = await runToEnd(open, program, { timeoutMs: 60_000, outputBytesMax: 10_000 });
      assert.deepEqual(
        [code, stderr.toString()],
        [127, 'There is no program no-such-program in the sandbox.\n'],
      );
    });

    it(`reports what is missing on the host, ${network} a bridge`, async (t) => {
      const { open } = await openTestSandbox(t, bubblewrap(), {
        ...options(),
        spec: { readable: ['/no/such/file'] },
      });
      const { code, stderr } = await runShell(open, 'true');
      assert.equal(code, 1);
      assert.match(stderr, /no\/such\/file/);
    });
  }
});

describe('a hostile agent in bubblewrap', { skip: noBubblewrap }, () => {
  it('cannot read files of the host', async (t) => {
    const secret = join(temporaryFolder(t), 'secret');
    writeFileSync(secret, 'canary');
    const { open, spec } = await openTestSandbox(t, bubblewrap());
    const files = [
      secret,
      '/etc/shadow',
      '/root',
      '/var/log',
      '/etc/machine-id',
      '/etc/resolv.conf',
      dirname(spec.home),
    ];
    const { stdout } = await runShell(
      open,
      `for file in ${files.join(' ')}; do [ -e "$file" ] && echo "$file"; done; true`,
    );
    assert.equal(stdout, '');
  });

  it('cannot see a hidden folder within a readable one', async (t) => {
    mkdirSync(hiddenFolder, { recursive: true });
    t.after(() => rmSync(hiddenFolder, { recursive: true, force: true }));
    writeFileSync(join(hiddenFolder, 'secret'), 'canary');
    const around = dirname(hiddenFolder);
    const { open } = await openTestSandbox(t, bubblewrap(), { spec: { readable: [around] } });
    const { stdout } = await runShell(
      open,
      `ls -A ${hiddenFolder}; touch ${hiddenFolder}/x; ls ${around} | wc -l`,
    );
    assert.match(stdout, /^[1-9]\d*\n$/);
  });

  it('sees what is readable in a hidden folder, and nothing else of it', async (t) => {
    const agent = join(hiddenFolder, 'agents/thing');
    mkdirSync(agent, { recursive: true });
    t.after(() => rmSync(hiddenFolder, { recursive: true, force: true }));
    writeFileSync(join(hiddenFolder, 'secret'), 'canary');
    writeFileSync(join(agent, 'program'), 'code');
    const { open } = await openTestSandbox(t, bubblewrap(), {
      spec: { readable: [dirname(hiddenFolder), agent] },
    });
    const command = `cat ${agent}/program; echo; ls -A ${hiddenFolder}; touch ${hiddenFolder}/x ${agent}/x`;
    assert.equal((await runShell(open, command)).stdout, 'code\nagents\n');
  });

  it('sees no process of the host, and no name of one', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const { stdout } = await runShell(
      open,
      `ls /proc | grep -c "^[0-9]"; kill -0 ${process.pid} && echo alive; hostname`,
    );
    assert.match(stdout, /^[1-5]\nparley\n$/);
  });

  it('can write only workspace, home and temporary files', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap(), { bridge: createBridge({ handlers: {} }) });
    const folders =
      '/ /usr /usr/bin /etc /dev /opt /opt/parley /run /var /home /proc/sys/kernel /workspace /home/agent /tmp /dev/shm';
    const { stdout } = await runShell(
      open,
      `for folder in ${folders}; do touch $folder/x 2>/dev/null && echo $folder; done; true`,
    );
    assert.equal(stdout, '/workspace\n/home/agent\n/tmp\n/dev/shm\n');
  });

  it('cannot open a kernel switch', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const files =
      '/proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger /proc/1/oom_score_adj';
    const { stdout } = await runShell(
      open,
      `for file in ${files}; do (: >>$file) 2>/dev/null && echo $file; done; [ -e /sys ] && echo /sys; echo done`,
    );
    assert.equal(stdout, 'done\n');
  });

  it('has no capabilities and can get none', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const { stdout } = await runShell(
      open,
      'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; unshare -Ur true 2>/dev/null && echo namespace; id -u',
    );
    assert.equal(stdout, 'CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n1000\n');
  });

  it('cannot affect the programs that create the sandbox through its environment', async (t) => {
    const folder = temporaryFolder(t);
    const { open } = await openTestSandbox(t, bubblewrap(), { bridge: createBridge({ handlers: {} }) });
    const env = { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(folder, 'trace') };
    const { stdout } = await runShell(open, 'echo "$LD_DEBUG"', env);
    assert.match(stdout, /libs\n$/);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('cannot affect the program that hands over the bridge through its environment', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap(), { bridge: createBridge({ handlers: {} }) });
    const env = { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: '/tmp/trace' };
    const { stdout } = await runShell(open, 'cat /tmp/trace.*', env);
    assert.match(stdout, /initialize program: sh/);
    assert.doesNotMatch(stdout, /opt\/parley\/node/);
  });

  it("reaches nothing without the bridge, neither the host's loopback interface nor link-local addresses", async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('reached'));
    for (const at of [
      `127.0.0.1 ${new URL(server.url).port}`,
      '169.254.169.254 80',
      '10.0.0.1 80',
      '1.1.1.1 443',
    ]) {
      const { stdout } = await runNode(t, tryToConnect, { AT: at });
      assert.match(stdout, /^(ECONNREFUSED|ENETUNREACH)\n$/, at);
    }
    assert.equal(server.requests.length, 0);
  });

  it('reaches neither through the bridge, even if private addresses are allowed', async (t) => {
    const server = await listenOnLoopback(t, (_, response) => void response.end('reached'));
    const { port } = new URL(server.url);
    for (const at of [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      '169.254.169.254:80',
    ]) {
      const { stdout } = await runNode(t, tryTheProxy, { AT: at });
      assert.equal(stdout, 'HTTP/1.1 403 Forbidden\n', at);
    }
    assert.equal(server.requests.length, 0);
  });

  it('is refused by the proxy without the token', async (t) => {
    const { stdout } = await runNode(t, tryTheProxy, { AT: '1.1.1.1:443', TOKEN: 'cnVuOmd1ZXNzZWQ=' });
    assert.equal(stdout, 'HTTP/1.1 407 Proxy Authentication Required\n');
  });

  it('cannot start more processes than allowed', {
    skip: !limitsHold('bubblewrap', cgroups).processes && 'nothing limits processes here',
  }, async (t) => {
    const resourceFactor = 1 / 32;
    const { open } = await openTestSandbox(t, bubblewrap(), { spec: { resourceFactor } });
    const { processesMax } = limitsOf({ resourceFactor });
    // It asks for three times as many. All of them end with the sandbox.
    const { stdout, stderr } = await runShell(
      open,
      `(for i in $(seq ${3 * processesMax}); do sleep 1000 & echo started; done); true`,
    );
    assert.match(stderr, /fork/);
    const started = stdout.split('\n').length - 1;
    assert.ok(started > 0 && started < processesMax, `${started} of ${processesMax}`);
  });

  it('cannot write files or temporary files without limit', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const { stdout } = await runShell(
      open,
      'for at in /workspace /tmp /dev/shm; do fallocate -l 5G $at/x 2>/dev/null && echo $at; rm -f $at/x; truncate -s 5G $at/x 2>/dev/null && echo $at; done; ulimit -c',
    );
    assert.equal(stdout, '0\n');
  });
});

describe('a well-behaved agent in bubblewrap', { skip: noBubblewrap }, () => {
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
    const { open } = await openTestSandbox(t, bubblewrap(), { bridge, spec: { readable: [node] } });
    const url = `http://elsewhere.example:${new URL(server.url).port}`;
    const { stdout, stderr } = await runShell(
      open,
      `${node} -e "fetch('${url}/node').then(async (answer) => console.log(await answer.text()))"
      if command -v curl >/dev/null; then curl -s ${url}/curl; else printf 'hello /curl'; fi`,
      bridgeEnvironment({ origin: open.bridge?.origin ?? '', token: bridge.token }),
    );
    assert.equal(stdout, 'hello /node\nhello /curl', stderr);
  });
});

// A hostile agent in bubblewrap: what it must not see, reach, write or take.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { testHostileAgent } from '../../test/support/hostileAgent.ts';
import {
  bubblewrap,
  cgroups,
  hiddenFolder,
  noBubblewrap,
  openTestSandbox,
  runShell,
} from '../../test/support/sandboxes.ts';
import { createBridge } from '../bridge/bridge.ts';
import { limitsHold } from './cgroups.ts';
import { limitsOf } from './limits.ts';
import { runToEnd } from './runToEnd.ts';

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
  const holds = limitsHold('bubblewrap', cgroups);
  const resourceFactor = 1 / 32;
  testHostileAgent({
    engine: bubblewrap,
    node: process.execPath,
    userId: 1_000,
    hostFiles: ['/etc/shadow', '/root', '/var/log', '/etc/machine-id', '/etc/resolv.conf'],
    visibleProcessesMax: 5,
    protectedFolders: ['/dev'],
    processes: holds.processes
      ? { resourceFactor, max: limitsOf({ resourceFactor }).processesMax }
      : 'nothing limits processes here',
    noMemoryLimit: !holds.memory && 'nothing limits memory here',
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

  it('cannot make others the first to be killed, and sees no devices', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const file = '/proc/1/oom_score_adj';
    const { stdout } = await runShell(
      open,
      `(: >>${file}) 2>/dev/null && echo ${file}; [ -e /sys ] && echo /sys; echo done`,
    );
    assert.equal(stdout, 'done\n');
  });

  it('can get no rights', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const { stdout } = await runShell(
      open,
      'grep -E "^NoNewPrivs" /proc/self/status; unshare -Ur true 2>/dev/null && echo namespace; echo done',
    );
    assert.equal(stdout, 'NoNewPrivs:\t1\ndone\n');
  });

  it('cannot affect the program that hands over the bridge through its environment', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap(), { bridge: createBridge({ handlers: {} }) });
    const env = { LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: '/tmp/trace' };
    const { stdout } = await runShell(open, 'cat /tmp/trace.*', env);
    assert.match(stdout, /initialize program: sh/);
    assert.doesNotMatch(stdout, /opt\/parley\/node/);
  });

  it('cannot reserve disk space without limit', async (t) => {
    const { open } = await openTestSandbox(t, bubblewrap());
    const { stdout } = await runShell(
      open,
      'for at in /workspace /tmp /dev/shm; do fallocate -l 5G $at/x 2>/dev/null && echo $at; done; echo done',
    );
    assert.equal(stdout, 'done\n');
  });
});

// The Docker sandbox with a real engine, and with gVisor as its runtime where that is installed: what a hostile agent must
// not see, reach, write or take, and that nothing of it is left.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createDocker } from '../../src/sandbox/docker.ts';
import { limitsOf } from '../../src/sandbox/limits.ts';
import type { OpenSandbox } from '../../src/sandbox/openSandbox.ts';
import { probeDocker } from '../../src/sandbox/probe.ts';
import { parleyImage } from '../support/dockerImages.ts';
import { testHostileAgent } from '../support/hostileAgent.ts';
import { hiddenFolder, openTestSandbox, runShell, temporaryFolder } from '../support/sandboxes.ts';
import { until } from '../support/until.ts';
import { engine, skip } from './setup.ts';

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

    const resourceFactor = 1 / 8;
    testHostileAgent({
      engine: () => docker([hiddenFolder]),
      node: process.execPath,
      userId: process.getuid?.() ?? 0,
      hostFiles: ['/var/run/docker.sock'],
      visibleProcessesMax: 9,
      processes: { resourceFactor, max: limitsOf({ resourceFactor }).processesMax },
    });

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

    it('creates files that belong to the user of the service', async (t) => {
      const { open: sandbox, spec } = await open(t);
      await runShell(sandbox, 'touch x');
      const { uid, gid } = statSync(join(spec.workspace, 'x'));
      assert.deepEqual([uid, gid], [process.getuid?.(), process.getgid?.()]);
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

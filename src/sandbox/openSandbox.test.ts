// What holds in every kind of sandbox that this machine has.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  bubblewrap,
  cgroups,
  commandLines,
  longSleep,
  newSandboxSpec,
  noBubblewrap,
  openTestSandbox,
  runShell,
  sleeps,
  temporaryFolder,
} from '../../test/support/sandboxes.ts';
import { until } from '../../test/support/until.ts';
import { createBridge } from '../bridge/bridge.ts';
import { limitsOf, oomScoreAdjustment } from './limits.ts';
import { type OpenSandbox, openSandbox } from './openSandbox.ts';
import { processEngine } from './processEngine.ts';
import { runToEnd } from './runToEnd.ts';
import type { HostEngine } from './sandbox.ts';

const kinds = [
  { kind: 'bubblewrap', engine: bubblewrap, skip: noBubblewrap },
  { kind: 'process', engine: () => processEngine, skip: false },
] as const;

const hello = () => createBridge({ handlers: { hello: (_, response) => void response.end('hello') } });

/** Asks the bridge from inside, with what Node alone needs. */
const ask = `node -e "
fetch(process.env.ORIGIN + '/hello', { headers: { authorization: 'Bearer ' + process.env.TOKEN } })
  .then(async (answer) => console.log(answer.status, await answer.text()))"`;

for (const { kind, engine, skip } of kinds) {
  describe(`a sandbox of the kind ${kind}`, { skip }, () => {
    it('forwards bytes both ways unchanged', async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const { stdin, stdout, ended } = await open.start({ argv: ['cat'], env: {} });
      const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256));
      const read = stdout.toArray();
      stdin.end(bytes);
      assert.deepEqual(Buffer.concat((await read) as Buffer[]), bytes);
      assert.deepEqual(await ended, { code: 0, signal: null });
    });

    it('reports the exit code', async (t) => {
      const { open } = await openTestSandbox(t, engine());
      assert.equal((await runShell(open, 'exit 7')).code, 7);
    });

    it('ends with 127 if there is no such program', async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const { ended } = await open.start({ argv: ['no-such-program'], env: {} });
      assert.equal((await ended).code, 127);
    });

    it('starts in the workspace, which it can write', async (t) => {
      const { open, spec } = await openTestSandbox(t, engine());
      const { stdout } = await runShell(
        open,
        'pwd; echo text >file; cat file; touch "$HOME/kept" && echo ok',
      );
      assert.equal(stdout, `${open.paths.workspace}\ntext\nok\n`);
      assert.notEqual(spec.workspace, spec.home);
    });

    it('has the requested environment, and nothing of the service', async (t) => {
      process.env['PARLEY_CANARY'] = 'canary-of-the-service';
      t.after(() => delete process.env['PARLEY_CANARY']);
      const { open } = await openTestSandbox(t, engine());
      const value = 'two\nlines, "quotes" and $(words)';
      const { stdout } = await runShell(open, 'env; printf %s "$ASKED" | od -c | head -1', { ASKED: value });
      assert.ok(stdout.includes(`ASKED=${value}\n`), stdout);
      assert.doesNotMatch(stdout, /canary|PARLEY_/);
    });

    it('has no value of the environment in any command line', async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const canary = `value-${crypto.randomUUID()}`;
      const sleep = longSleep();
      const running = await open.start({ argv: ['sleep', sleep], env: { CANARY: canary } });
      await until('it runs', () => sleeps(sleep) > 0);
      assert.ok(!commandLines().some((line) => line.includes(canary)));
      await running.kill();
    });

    it('is killed before the service if memory runs out', async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const { stdout } = await runShell(
        open,
        'cat /proc/self/oom_score_adj; sh -c "cat /proc/$$/oom_score_adj"',
      );
      assert.equal(stdout, `${oomScoreAdjustment}\n${oomScoreAdjustment}\n`);
    });

    it('limits the address space of programs that ask for it, if no cgroup limits memory', async (t) => {
      const spec = newSandboxSpec(t, { resourceFactor: 0.125 });
      const bounds = { timeoutMs: 60_000, outputBytesMax: 1_000 };
      const limitIn = async (open: OpenSandbox, limitAddressSpace: boolean) => {
        const argv = ['sh', '-c', 'ulimit -v'] as const;
        return (await runToEnd(open, { argv, env: {}, limitAddressSpace }, bounds)).stdout.toString();
      };
      const open = await openSandbox({ engine: engine(), spec });
      t.after(() => open.close());
      assert.equal(await limitIn(open, true), `${limitsOf(spec).addressBytesMax / 1_024}\n`);
      assert.equal(await limitIn(open, false), 'unlimited\n');
    });

    it('leaves programs the default signals and no open files', async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const { stdout } = await runShell(
        open,
        'grep SigIgn /proc/self/status; for n in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && readlink /proc/$$/fd/$n; done; true',
      );
      assert.equal(stdout, 'SigIgn:\t0000000000000000\n');
    });

    it('dies with all its processes', async (t) => {
      const { open } = await openTestSandbox(t, engine());
      const sleep = longSleep();
      const running = await open.start({ argv: ['sh', '-c', `sleep ${sleep} & sleep ${sleep}`], env: {} });
      await until('both run', () => sleeps(sleep) === 2);
      await running.kill();
      assert.equal(sleeps(sleep), 0);
    });

    it('knows its processes', async (t) => {
      const { open } = await openTestSandbox(t, engine());
      const sleep = longSleep();
      const started = await open.start({ argv: ['sh', '-c', `sleep ${sleep} & wait`], env: {} });
      const names = () => open.pids().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      await until('it runs', () => sleeps(sleep) > 0);
      assert.ok(names().includes(`sleep\0${sleep}\0`));
      await started.kill();
      await until('none is left', () => open.pids().length === 0);
    });

    it('dies with processes that left its session', async (t) => {
      const { open } = await openTestSandbox(t, engine());
      const sleep = longSleep();
      const argv = ['sh', '-c', `setsid sh -c 'setsid sleep ${sleep} & wait' & sleep ${sleep}`] as const;
      const running = await open.start({ argv, env: {} });
      await until('both run', () => sleeps(sleep) === 2);
      await running.kill();
      assert.equal(sleeps(sleep), 0);
    });

    it('ends what is left when its program has ended', {
      skip: kind === 'process' && !cgroups.holds.processes && 'there are no control groups here',
    }, async (t) => {
      const { open } = await openTestSandbox(t, engine());
      const sleep = longSleep();
      const running = await open.start({
        argv: ['sh', '-c', `setsid sleep ${sleep} >/dev/null 2>&1 & read line`],
        env: {},
      });
      await until('it runs', () => sleeps(sleep) === 1);
      running.stdin.end('\n');
      await running.ended;
      assert.equal(sleeps(sleep), 0);
    });

    it('closes with all processes, and starts none afterwards', async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const sleep = longSleep();
      const program = { argv: ['sleep', sleep], env: {} } as const;
      await Promise.all([open.start(program), open.start(program)]);
      await until('both run', () => sleeps(sleep) === 2);
      await open.close();
      assert.equal(sleeps(sleep), 0);
      await assert.rejects(open.start(program), /closed/);
    });

    it('reaches the bridge with the token, and not without', async (t) => {
      const bridge = hello();
      const node = process.execPath;
      const { open } = await openTestSandbox(t, engine(), { bridge, spec: { readable: [node] } });
      const env = {
        ORIGIN: open.bridge?.origin ?? '',
        PATH: `${node.slice(0, node.lastIndexOf('/'))}:/usr/bin:/bin`,
      };
      const shown = await runShell(open, ask, { ...env, TOKEN: bridge.token });
      assert.equal(shown.stdout, '200 hello\n', shown.stderr);
      const guessed = await runShell(open, ask, { ...env, TOKEN: 'guessed' });
      assert.match(guessed.stdout, /^401 /);
    });
  });
}

describe('a sandbox that cannot be opened', () => {
  it('leaves no folder for a socket, and no cgroup', async (t) => {
    // The path of a socket must be short.
    const spec = newSandboxSpec(t);
    const folder = join(temporaryFolder(t), 'x'.repeat(200));
    mkdirSync(folder);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = folder;
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    const engine: HostEngine = { ...processEngine, bridgeConnection: 'socket' };
    const opening = openSandbox({ engine, spec, bridge: createBridge({ handlers: {} }), cgroups });
    await assert.rejects(opening, /EINVAL|ENAMETOOLONG/);
    assert.deepEqual(readdirSync(folder), []);
    // Its name is free again.
    await cgroups.create(spec).end();
  });
});

// What holds in every kind of sandbox: on this machine, and in pods of a cluster.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { createBridge } from '../../src/bridge/bridge.ts';
import { limitsOf, oomScoreAdjustment } from '../../src/sandbox/limits.ts';
import { type OpenSandbox, openSandbox } from '../../src/sandbox/openSandbox.ts';
import { runToEnd } from '../../src/sandbox/runToEnd.ts';
import type { SandboxEngine } from '../../src/sandbox/sandbox.ts';
import { commandLines, longSleep, newSandboxSpec, openTestSandbox, runShell, sleeps } from './sandboxes.ts';
import { until } from './until.ts';

/** A test that does not apply to a kind of sandbox, and why. */
type Exceptions = Partial<Record<'oomScore' | 'addressSpace' | 'pids' | 'leftovers', string | false>>;

export interface SandboxUnderTest {
  readonly kind: string;
  readonly engine: () => SandboxEngine;
  readonly skip: string | false;
  readonly exceptions?: Exceptions;
  /** The path of Node inside. */
  readonly node?: string;
  /** A variable of the sandbox itself in the environment of programs. */
  readonly ownVariable?: string;
}

const hello = () => createBridge({ handlers: { hello: (_, response) => void response.end('hello') } });

/** Asks the bridge from inside, with what Node alone needs. */
const ask = `node -e "
fetch(process.env.ORIGIN + '/hello', { headers: { authorization: 'Bearer ' + process.env.TOKEN } })
  .then(async (answer) => console.log(answer.status, await answer.text()))"`;

export function describeSandbox(tested: SandboxUnderTest): void {
  const { kind, engine, skip, exceptions = {}, node = process.execPath, ownVariable } = tested;
  const isRemote = () => engine().kind === 'kubernetes';

  /** The processes of a pod end soon after it is closed; those of this machine before. */
  async function noneIsLeft(sleep: string): Promise<void> {
    if (isRemote()) await until('none is left', () => sleeps(sleep) === 0);
    assert.equal(sleeps(sleep), 0);
  }

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
      const others = stdout.split('\n').filter((line) => !line.startsWith(`${ownVariable}=`));
      assert.doesNotMatch(others.join('\n'), /canary|PARLEY_/);
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

    it('is killed before the service if memory runs out', {
      skip: exceptions.oomScore ?? false,
    }, async (t) => {
      const { open } = await openTestSandbox(t, engine(), { bridge: hello() });
      const { stdout } = await runShell(
        open,
        'cat /proc/self/oom_score_adj; sh -c "cat /proc/$$/oom_score_adj"',
      );
      assert.equal(stdout, `${oomScoreAdjustment}\n${oomScoreAdjustment}\n`);
    });

    it('limits the address space of programs that ask for it, if no cgroup limits memory', {
      skip: exceptions.addressSpace ?? false,
    }, async (t) => {
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

    it('knows its processes', { skip: exceptions.pids ?? false }, async (t) => {
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
      skip: exceptions.leftovers ?? false,
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
      await noneIsLeft(sleep);
      await assert.rejects(open.start(program), /closed/);
    });

    it('reaches the bridge with the token, and not without', async (t) => {
      const bridge = hello();
      const { open } = await openTestSandbox(t, engine(), { bridge, spec: { readable: [node] } });
      const env = {
        ORIGIN: open.bridge?.origin ?? '',
        PATH: `${dirname(node)}:/usr/bin:/bin`,
      };
      const shown = await runShell(open, ask, { ...env, TOKEN: bridge.token });
      assert.equal(shown.stdout, '200 hello\n', shown.stderr);
      const guessed = await runShell(open, ask, { ...env, TOKEN: 'guessed' });
      assert.match(guessed.stdout, /^401 /);
    });
  });
}

// No engine for containers is needed here: the argv is looked at as data, and a stand-in for the client runs it in
// bubblewrap, to see the way over the socket of the bridge.
import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
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
import { createDocker } from './docker.ts';

const usual = createDocker({ command: 'docker', image: 'usual:1', runtime: undefined, hidden: [] });

function valuesOf(args: readonly string[], name: string): string[] {
  return args.flatMap((arg, at) => (arg === name ? [args[at + 1] ?? ''] : []));
}

describe('the command for a container', () => {
  it('removes the network, capabilities and everything writable but workspace and home', (t) => {
    const spec = newSandboxSpec(t, { readable: ['/opt/agent'] });
    const { command, args } = usual.wrap(spec, { argv: ['agent', '--acp'], env: {} }, 'none');
    assert.equal(command, 'docker');
    for (const flag of ['--read-only', '--rm', '--init', '--interactive'])
      assert.ok(args.includes(flag), flag);
    assert.ok(!args.includes('--tty') && !args.includes('--privileged'));
    assert.deepEqual(valuesOf(args, '--network'), ['none']);
    assert.deepEqual(valuesOf(args, '--cap-drop'), ['ALL']);
    assert.deepEqual(valuesOf(args, '--security-opt'), ['no-new-privileges']);
    assert.deepEqual(valuesOf(args, '--mount'), [
      `type=bind,source=${spec.workspace},target=/workspace`,
      `type=bind,source=${spec.home},target=/home/agent`,
      'type=bind,source=/opt/agent,target=/opt/agent,readonly',
    ]);
    assert.deepEqual(args.slice(-2), ['agent', '--acp']);
  });

  it('has an empty folder instead of a hidden one within a readable one', (t) => {
    const sandbox = createDocker({
      command: 'docker',
      image: 'x',
      runtime: undefined,
      hidden: ['/opt/agent/data', '/other'],
    });
    const spec = newSandboxSpec(t, { readable: ['/opt/agent'] });
    const { args } = sandbox.wrap(spec, { argv: ['agent'], env: {} }, 'none');
    const mounts = valuesOf(args, '--mount').filter((mount) => mount.startsWith('type=tmpfs'));
    assert.deepEqual(mounts, ['type=tmpfs,target=/opt/agent/data,tmpfs-size=4096,readonly']);
  });

  it('scales the limits, and uses the image of the sandbox', (t) => {
    const wrap = (more: object) => usual.wrap(newSandboxSpec(t, more), { argv: ['a'], env: {} }, 'none').args;
    const gib = 1_024 ** 3;
    assert.deepEqual(valuesOf(wrap({}), '--memory'), [String(4 * gib)]);
    assert.deepEqual(valuesOf(wrap({ resourceFactor: 2 }), '--memory'), [String(8 * gib)]);
    assert.deepEqual(valuesOf(wrap({ resourceFactor: 2 }), '--memory-swap'), [String(8 * gib)]);
    assert.deepEqual(valuesOf(wrap({}), '--oom-score-adj'), ['500']);
    assert.deepEqual(valuesOf(wrap({ resourceFactor: 0.5 }), '--pids-limit'), ['512']);
    assert.deepEqual(valuesOf(wrap({ resourceFactor: 0.5 }), '--cpus'), ['1']);
    assert.deepEqual(valuesOf(wrap({ resourceFactor: 1_000 }), '--cpus'), [String(availableParallelism())]);
    assert.ok(wrap({}).includes('usual:1') && wrap({ image: 'own:2' }).includes('own:2'));
  });

  it('has the names of variables in its argv and the values only in the environment of the client', (t) => {
    const env = { LD_PRELOAD: 'canary', DOCKER_HOST: 'canary', PATH: 'canary' };
    const wrapped = usual.wrap(newSandboxSpec(t), { argv: ['a'], env }, 'none');
    assert.ok(!wrapped.args.some((arg) => arg.includes('canary')));
    assert.equal(wrapped.env['PATH'], process.env['PATH']);
    assert.equal(wrapped.env['LD_PRELOAD'], undefined);
    assert.equal(wrapped.env['DOCKER_HOST'], process.env['DOCKER_HOST']);
    assert.equal(wrapped.env['PARLEY_VAR_LD_PRELOAD'], 'canary');
    for (const name of Object.keys(env))
      assert.ok(valuesOf(wrapped.args, '--env').includes(`PARLEY_VAR_${name}`));
  });

  it('refuses a variable name that the shell could misread', (t) => {
    for (const name of ['A B', 'A;id', '1A', 'A$(id)', ''])
      assert.throws(
        () => usual.wrap(newSandboxSpec(t), { argv: ['a'], env: { [name]: 'x' } }, 'none'),
        /name/,
      );
  });

  it('quotes a path with a comma', (t) => {
    const spec = { ...newSandboxSpec(t), workspace: '/data/a,b"c' };
    const [first] = valuesOf(usual.wrap(spec, { argv: ['a'], env: {} }, 'none').args, '--mount');
    assert.equal(first, 'type=bind,"source=/data/a,b""c",target=/workspace');
  });

  it('names each container, and how to remove it', (t) => {
    const spec = newSandboxSpec(t);
    const [one, other] = [1, 2].map(() => usual.wrap(spec, { argv: ['a'], env: {} }, 'none'));
    const name = valuesOf(one?.args ?? [], '--name')[0] ?? '';
    assert.ok(name.startsWith(`parley-${spec.name}-`));
    assert.notEqual(name, valuesOf(other?.args ?? [], '--name')[0]);
    assert.deepEqual(one?.end?.args, ['rm', '--force', name]);
  });
});

function fakeDocker(t: TestContext) {
  const folder = temporaryFolder(t);
  const command = join(folder, 'docker');
  const program = join(import.meta.dirname, '../../test/support/fakeDocker.ts');
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${program}' '${folder}' "$@"\n`);
  chmodSync(command, 0o755);
  return { folder, sandbox: createDocker({ command, image: 'usual:1', runtime: undefined, hidden: [] }) };
}

describe('a sandbox in a container', { skip: noBubblewrap }, () => {
  const node = process.execPath;
  const ask = `"${node}" -e "
fetch('http://127.0.0.1:3128/hello', { headers: { 'x-api-key': process.env.TOKEN } })
  .then(async (answer) => console.log(answer.status, await answer.text()))"`;

  it('reaches the bridge over its socket', async (t) => {
    const bridge = createBridge({ handlers: { hello: (_, response) => void response.end('hello') } });
    const { sandbox } = fakeDocker(t);
    const temporary = temporaryFolder(t);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = temporary;
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    });
    const { open } = await openTestSandbox(t, sandbox, { bridge, spec: { readable: [node] } });
    assert.equal(open.bridge?.origin, 'http://127.0.0.1:3128');
    const { stdout, stderr } = await runShell(open, ask, { TOKEN: bridge.token });
    assert.equal(stdout, '200 hello\n', stderr);
    const sockets = () =>
      readdirSync(temporary, { recursive: true }).filter((name) => String(name).endsWith('.sock'));
    assert.equal(sockets().length, 1);
    await open.close();
    assert.deepEqual(sockets(), []);
  });

  it('forwards input, output and exit code, with the environment', async (t) => {
    const { sandbox } = fakeDocker(t);
    const { open } = await openTestSandbox(t, sandbox, { bridge: createBridge({ handlers: {} }) });
    const { stdout, code } = await runShell(open, 'env | grep -E "PARLEY|ASKED"; exit 9', { ASKED: 'yes' });
    assert.deepEqual([stdout, code], ['ASKED=yes\n', 9]);
  });

  it('is removed when it is killed, although it outlives its client', async (t) => {
    const { folder, sandbox } = fakeDocker(t);
    const { open } = await openTestSandbox(t, sandbox);
    const sleep = longSleep();
    const running = await open.start({ argv: ['sleep', sleep], env: { CANARY: 'value-of-a-secret' } });
    await until('it runs', () => sleeps(sleep) > 0);
    assert.ok(!commandLines().some((line) => line.includes('value-of-a-secret')));
    await running.kill();
    await until('it is gone', () => sleeps(sleep) === 0);
    assert.match(readFileSync(join(folder, 'calls'), 'utf8'), /\["rm","--force","parley-test-/);
  });
});

// The supervisor as a process of this machine, and the worker's end of its connection.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../test/support/ports.ts';
import { longSleep, sleeps } from '../../../test/support/sandboxes.ts';
import { until } from '../../../test/support/until.ts';
import { encodeFrame } from './frames.ts';
import { windowBytes } from './multiplexer.ts';
import { connectToPod } from './podConnection.ts';
import type { ProgramRequest } from './protocol.ts';

const file = fileURLToPath(new URL('./inside/supervisor.ts', import.meta.url));

interface Needs {
  readonly isHeld?: () => boolean;
  readonly onBridge?: (connection: Duplex) => void;
}

interface Supervised {
  readonly child: ChildProcess;
  readonly output: Buffer[];
  readonly port: number;
}

async function startSupervisor(t: TestContext): Promise<Supervised> {
  const port = await freePort();
  const child = spawn(process.execPath, [file, String(port)], { stdio: 'pipe' });
  t.after(() => child.kill('SIGKILL'));
  const output: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => output.push(bytes));
  child.stdin.on('error', () => {});
  return { child, output, port };
}

async function connect(t: TestContext, { isHeld = () => true, onBridge }: Needs = {}) {
  const supervised = await startSupervisor(t);
  const { child } = supervised;
  const pod = await connectToPod({
    open: async ({ onOutput, onClose }) => {
      child.stdout?.on('data', onOutput);
      child.once('exit', () => onClose('it has ended'));
      return { send: (bytes) => void child.stdin?.write(bytes), close: () => child.stdin?.destroy() };
    },
    onBridge,
    isHeld,
    explain: async (why, isOwnFault) => ({ sentence: `The pod was lost: ${why}.`, isOwnFault }),
  });
  t.after(() => pod.close());
  return { pod, ...supervised };
}

const program = (argv: ProgramRequest['argv'], env = {}): ProgramRequest => ({ argv, env, cwd: tmpdir() });
const shell = (script: string, env = {}) => program(['/bin/sh', '-c', script], env);
const read = (stream: Readable) => text(stream);

describe('the supervisor of a pod', () => {
  it('runs programs with their streams, environment and exit code', async (t) => {
    const { pod } = await connect(t);
    const cat = await pod.start(shell('cat; echo "$GIVEN" >&2; pwd; exit 3', { GIVEN: 'from outside' }));
    cat.stdin.end('hello\n');
    const [out, errors, end] = await Promise.all([read(cat.stdout), read(cat.stderr), cat.ended]);
    assert.equal(out, `hello\n${tmpdir()}\n`);
    assert.equal(errors, 'from outside\n');
    assert.deepEqual(end, { code: 3, signal: null });
  });

  it('carries much at the same time, while the output of one program is not read', async (t) => {
    const { pod } = await connect(t);
    const silent = await pod.start(shell('head -c 3000000 /dev/zero'));
    const bytes = 20 * windowBytes;
    const wanted = Array.from({ length: 4 }, async () => {
      const cat = await pod.start(program(['cat']));
      cat.stdin.end(Buffer.alloc(bytes, 'x'));
      cat.stderr.resume();
      let size = 0;
      for await (const piece of cat.stdout) size += (piece as Buffer).length;
      return size;
    });
    assert.deepEqual(await Promise.all(wanted), [bytes, bytes, bytes, bytes]);
    assert.ok(silent.stdout.readableLength <= 1.5 * windowBytes);
    assert.equal((await read(silent.stdout)).length, 3_000_000);
    assert.equal((await silent.ended).code, 0);
  });

  it('says why a program cannot be started', async (t) => {
    const { pod } = await connect(t);
    await assert.rejects(pod.start(program(['/no/such/program'])), { code: 'ENOENT' });
    const variables = { LARGE: 'x'.repeat(500_000) };
    await assert.rejects(pod.start(program(['true'], variables)), { code: 'E2BIG' });
    const fine = await pod.start(program(['true']));
    assert.equal((await fine.ended).code, 0);
  });

  it('kills a program with its descendants, wherever they have gone, and no others', async (t) => {
    const { pod } = await connect(t);
    const [one, other] = [longSleep(), longSleep()];
    const kept = await pod.start(shell(`sleep ${other}`));
    const killed = await pod.start(shell(`setsid sh -c "sleep ${one} & sleep ${one}" & sleep ${one}`));
    await until('all of them run', () => sleeps(one) === 3 && sleeps(other) === 1);
    await killed.kill();
    assert.deepEqual(await killed.ended, { code: null, signal: 'SIGKILL' });
    assert.equal(sleeps(one), 0);
    assert.equal(sleeps(other), 1);
    await kept.kill();
  });

  it('ends what a program leaves behind', async (t) => {
    const { pod } = await connect(t);
    const left = longSleep();
    const started = await pod.start(shell(`setsid sleep ${left} >/dev/null 2>&1 &`));
    assert.equal((await started.ended).code, 0);
    assert.equal(sleeps(left), 0);
  });

  it('hands connections of programs to the bridge', async (t) => {
    const server = createServer((request, response) => {
      response.end(`${request.method} ${request.url} ${request.headers['x-given']}`);
    });
    const { pod, port } = await connect(t, { onBridge: (one) => void server.emit('connection', one) });
    const script = `fetch('http://127.0.0.1:${port}/path', { method: 'POST', body: 'x'.repeat(2e6), headers: { 'x-given': 'yes' } })
      .then((answer) => answer.text()).then(console.log)`;
    const asks = await pod.start(program([process.execPath, '--eval', script]));
    asks.stderr.resume();
    assert.equal(await read(asks.stdout), 'POST /path yes\n');
  });

  it('writes nothing to its log that others could read', async (t) => {
    const { pod, output } = await connect(t);
    const said = await pod.start(shell('echo a secret of the user'));
    assert.equal(await read(said.stdout), 'a secret of the user\n');
    const written = Buffer.concat(output);
    assert.ok(written.length > 0);
    assert.ok(!written.includes('secret') && !written.includes('hello'));
  });

  it('ends itself and all programs if the worker is not heard from, and the worker learns it', async (t) => {
    let isHeld = true;
    const { pod, child } = await connect(t, { isHeld: () => isHeld });
    const left = longSleep();
    const started = await pod.start(shell(`sleep ${left}`));
    await until('it runs', () => sleeps(left) === 1);
    isHeld = false;
    assert.deepEqual(await pod.lost, { sentence: 'The pod was lost: it has ended.', isOwnFault: false });
    assert.deepEqual(await started.ended, { code: null, signal: 'SIGKILL' });
    assert.notEqual(child.exitCode, null);
    await assert.rejects(pod.start(shell('true')), /closed/);
  });

  it('ends at once when the worker closes the connection or breaks the protocol', async (t) => {
    const gone = await startSupervisor(t);
    gone.child.stdin?.end();
    assert.deepEqual(await once(gone.child, 'exit'), [10, null]);
    const hostile = await startSupervisor(t);
    hostile.child.stdin?.write(encodeFrame({ kind: 'data', channel: 5, payload: Buffer.from('x') }));
    assert.deepEqual(await once(hostile.child, 'exit'), [11, null]);
    const { pod, child } = await connect(t);
    pod.close();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
});

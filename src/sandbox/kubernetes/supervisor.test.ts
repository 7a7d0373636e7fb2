// The supervisor as a process of this machine, and the worker's end of its connection.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import type { Duplex, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../test/support/ports.ts';
import { longSleep, sleeps } from '../../../test/support/sandboxes.ts';
import { until } from '../../../test/support/until.ts';
import { windowBytes } from './multiplexer.ts';
import { encodePacket } from './packets.ts';
import { connectToPod } from './podConnection.ts';
import type { OpenPodStream } from './podLink.ts';
import { firstMark, type ProgramRequest, silenceMsMax, takeoverMsMax } from './protocol.ts';

const file = fileURLToPath(new URL('./inside/supervisor.ts', import.meta.url));

interface Needs {
  readonly isHeld?: () => boolean;
  readonly onBridge?: (connection: Duplex) => void;
  readonly takeoverMs?: number;
}

interface Supervised {
  readonly child: ChildProcess;
  readonly output: Buffer[];
  readonly port: number;
  /** Attaches as to a container: who attaches gets what is printed from then on. */
  readonly open: OpenPodStream;
  /** How often somebody has attached. */
  opened(): number;
  /** Breaks the stream, in the middle of whatever is on its way. */
  cut(): void;
  /** Nobody can attach. */
  refuse(): void;
}

/** The supervisor may get only a part of what was written last. */
function attachTo({ stdin, stdout }: ChildProcess, onOutput: (bytes: Buffer) => void) {
  let last: Buffer = Buffer.alloc(0);
  const leave = () => {
    if (last.length > 1) stdin?.write(last.subarray(0, last.length >> 1));
    last = Buffer.alloc(0);
  };
  stdout?.on('data', onOutput);
  return {
    send: (bytes: Buffer) => {
      stdin?.write(last);
      last = bytes;
      setImmediate(() => {
        if (last === bytes) last = Buffer.alloc(0);
        else return;
        stdin?.write(bytes);
      });
    },
    cut: () => {
      stdout?.off('data', onOutput);
      leave();
    },
  };
}

async function startSupervisor(t: TestContext, takeoverMs = takeoverMsMax): Promise<Supervised> {
  const port = await freePort();
  const child = spawn(process.execPath, [file, String(port), String(takeoverMs)], { stdio: 'pipe' });
  t.after(() => child.kill('SIGKILL'));
  const output: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => output.push(bytes));
  child.stdin.on('error', () => {});
  child.setMaxListeners(0);
  let opened = 0;
  let isRefusing = false;
  let cut = () => {};
  return {
    child,
    output,
    port,
    open: async ({ onOutput, onClose }) => {
      if (isRefusing || child.exitCode !== null) throw new Error('it cannot be reached');
      const { send, cut: leave } = attachTo(child, onOutput);
      opened += 1;
      cut = () => {
        leave();
        onClose('it was cut');
      };
      child.once('exit', () => onClose('it has ended'));
      return { send, close: leave };
    },
    opened: () => opened,
    cut: () => cut(),
    refuse: () => {
      isRefusing = true;
    },
  };
}

/** Attaches another worker to the supervisor. */
async function connectTo(
  t: TestContext,
  { child, open }: Supervised,
  { isHeld = () => true, onBridge }: Needs = {},
) {
  const pod = await connectToPod({
    open,
    onBridge,
    isHeld,
    hasEnded: async () => child.exitCode !== null,
    explain: async (why, isOwnFault) => ({ sentence: `The pod was lost: ${why}.`, isOwnFault }),
  });
  t.after(() => pod.close());
  return pod;
}

async function connect(t: TestContext, { takeoverMs, ...needs }: Needs = {}) {
  const supervised = await startSupervisor(t, takeoverMs);
  return { pod: await connectTo(t, supervised, needs), ...supervised };
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

  it('gives a program all of its input, also if it reads slowly and the end has come', async (t) => {
    const { pod } = await connect(t);
    const slow = await pod.start(shell('sleep 0.5; wc -c'));
    slow.stderr.resume();
    // More than fits into the pipe to the program, but not so much that the supervisor stops reading.
    for (let piece = 0; piece < 100; piece++) slow.stdin.write(Buffer.alloc(1_000));
    slow.stdin.end();
    assert.equal(Number(await read(slow.stdout)), 100_000);
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

  it('ends all programs if the worker is not heard from, and itself later, and the worker learns it', async (t) => {
    let isHeld = true;
    const { pod, child } = await connect(t, { isHeld: () => isHeld, takeoverMs: 100 });
    const left = longSleep();
    const started = await pod.start(shell(`sleep ${left}`));
    await until('it runs', () => sleeps(left) === 1);
    isHeld = false;
    assert.deepEqual(await pod.lost, {
      sentence: 'The pod was lost: it got no heartbeats.',
      isOwnFault: false,
    });
    assert.deepEqual(await started.ended, { code: null, signal: 'SIGKILL' });
    assert.equal(sleeps(left), 0);
    await assert.rejects(pod.start(shell('true')), /closed/);
    await until('it has ended', () => child.exitCode === 10);
  });

  it('ends at once when the worker closes the connection or breaks the protocol', async (t) => {
    const gone = await startSupervisor(t);
    gone.child.stdin?.end();
    assert.deepEqual(await once(gone.child, 'exit'), [10, null]);
    const hostile = await startSupervisor(t);
    const payload = Buffer.from('not a hello');
    hostile.child.stdin?.write(encodePacket(firstMark, { kind: 'hello', epoch: 1, number: 0, payload }));
    assert.deepEqual(await once(hostile.child, 'exit'), [11, null]);
    const { pod, child } = await connect(t);
    pod.close();
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
});

const cutAfterBytes = 300_000;

/** Reads streams to their end. Whenever so much more has arrived, the stream to the supervisor is cut. */
function createCuttingReader({ cut }: Supervised) {
  let unread = cutAfterBytes;
  let cuts = 0;
  return {
    cuts: () => cuts,
    read: async (stream: Readable): Promise<Buffer> => {
      const pieces: Buffer[] = [];
      for await (const piece of stream as AsyncIterable<Buffer>) {
        pieces.push(piece);
        unread -= piece.length;
        if (unread > 0) continue;
        unread = cutAfterBytes;
        cuts += 1;
        cut();
      }
      return Buffer.concat(pieces);
    },
  };
}

const bytesOf = (size: number) => {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32BE(at, at);
  return bytes;
};

describe('a supervisor whose stream to the worker breaks', () => {
  it('goes on in the next one, and nothing is lost or doubled', async (t) => {
    const server = createServer(async (request, response) => {
      response.end(await buffer(request));
    });
    const made = await connect(t, { onBridge: (one) => void server.emit('connection', one) });
    const { pod, port } = made;
    const reader = createCuttingReader(made);
    const sent = bytesOf(3_000_000);
    const echo = async () => {
      const cat = await pod.start(program(['cat']));
      cat.stderr.resume();
      cat.stdin.end(sent);
      const [got, end] = await Promise.all([reader.read(cat.stdout), cat.ended]);
      assert.equal(end.code, 0);
      assert.ok(got.equals(sent), 'what a program has read and written');
    };
    const lines = async () => {
      const counts = await pod.start(
        shell('i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "line $i"; done'),
      );
      counts.stderr.resume();
      const wanted = Array.from({ length: 3_000 }, (_, n) => `line ${n + 1}\n`).join('');
      assert.equal((await reader.read(counts.stdout)).toString(), wanted);
    };
    const fetched = async () => {
      const script = `fetch('http://127.0.0.1:${port}/', { method: 'POST', body: Buffer.alloc(1_000_000, 'abcdefg') })
        .then((answer) => answer.text()).then((text) => process.stdout.write(text))`;
      const asks = await pod.start(program([process.execPath, '--eval', script]));
      asks.stderr.resume();
      assert.ok((await reader.read(asks.stdout)).equals(Buffer.alloc(1_000_000, 'abcdefg')), 'the bridge');
    };
    await Promise.all([echo(), lines(), fetched(), echo()]);
    assert.ok(reader.cuts() > 10);
  });

  it('ends itself if no worker comes back in time, and the worker learns it', async (t) => {
    const { pod, child, cut, refuse } = await connect(t, { takeoverMs: 100 });
    const started = await pod.start(program(['cat']));
    refuse();
    cut();
    assert.deepEqual(await pod.lost, { sentence: 'The pod was lost: it was cut.', isOwnFault: false });
    assert.deepEqual(await started.ended, { code: null, signal: 'SIGKILL' });
    await until('it has ended', () => child.exitCode === 10);
  });

  it('does not go on for a worker that has lost its lease and still reads', async (t) => {
    let isHeld = true;
    const { pod, child } = await connect(t, { takeoverMs: 100, isHeld: () => isHeld });
    const prints = await pod.start(shell('while echo more; do sleep 0.1; done'));
    prints.stdout.resume();
    isHeld = false;
    await pod.lost;
    await until('it has ended', () => child.exitCode === 10);
  });

  it('does not go on for a worker that has lost its lease', async (t) => {
    let isHeld = true;
    const { pod, child, cut, opened } = await connect(t, { isHeld: () => isHeld, takeoverMs: 100 });
    isHeld = false;
    cut();
    await pod.lost;
    assert.equal(opened(), 1);
    await until('it has ended', () => child.exitCode === 10);
  });
});

describe('a supervisor whose worker was lost', () => {
  it('serves the next worker, in whose session nothing of the earlier one is left', async (t) => {
    let isHeld = true;
    const supervised = await startSupervisor(t);
    const first = await connectTo(t, supervised, { isHeld: () => isHeld });
    const left = longSleep();
    const started = await first.start(shell(`setsid sleep ${left} & sleep ${left}`));
    await until('both run', () => sleeps(left) === 2);
    isHeld = false;
    await first.lost;
    assert.equal(sleeps(left), 0);
    assert.deepEqual(await started.ended, { code: null, signal: 'SIGKILL' });
    const bridged: Duplex[] = [];
    const second = await connectTo(t, supervised, { onBridge: (one) => void bridged.push(one.end('hi')) });
    const cat = await second.start(shell('cat; exit 4'));
    cat.stdin.end('hello again\n');
    assert.equal(await read(cat.stdout), 'hello again\n');
    assert.equal((await cat.ended).code, 4);
    const script = `require('net').connect(${supervised.port}, '127.0.0.1').on('data', (data) => process.stdout.write(data))`;
    const asks = await second.start(program([process.execPath, '--eval', script]));
    asks.stderr.resume();
    assert.equal(await read(asks.stdout), 'hi');
    assert.equal(bridged.length, 1);
    // What the first worker still sends has no effect.
    isHeld = true;
    first.sweep();
    first.close();
    const fine = await second.start(program(['true']));
    assert.equal((await fine.ended).code, 0);
    assert.equal(supervised.child.exitCode, null);
  });

  it('serves a worker that comes before it has noticed the loss', async (t) => {
    const supervised = await startSupervisor(t);
    let isHeld = true;
    const first = await connectTo(t, supervised, { isHeld: () => isHeld });
    const left = longSleep();
    await first.start(shell(`sleep ${left}`));
    await until('it runs', () => sleeps(left) === 1);
    isHeld = false;
    supervised.cut();
    const second = await until(
      'it is served',
      () => connectTo(t, supervised).catch(() => undefined),
      2 * silenceMsMax,
    );
    assert.equal(sleeps(left), 0);
    const fine = await second.start(program(['true']));
    assert.equal((await fine.ended).code, 0);
  });

  it('does not let a worker in whose predecessor lives', async (t) => {
    const supervised = await startSupervisor(t);
    const first = await connectTo(t, supervised);
    const kept = await first.start(program(['cat']));
    await assert.rejects(connectTo(t, supervised));
    kept.stdin.end('still here');
    assert.equal(await read(kept.stdout), 'still here');
    assert.equal((await kept.ended).code, 0);
  });
});

// Both ends of the link, with streams between them that break anywhere, and that still deliver something afterwards.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import { until } from '../../../test/support/until.ts';
import { createEncryption } from './cipher.ts';
import { encodeFrame, type Frame, ProtocolError } from './frames.ts';
import { createWorkerLink } from './inside/workerLink.ts';
import { createLink, keptBytesMax, roomBytes } from './link.ts';
import { createMultiplexer } from './multiplexer.ts';
import { createPacketReader, encodePacket, markBytes, type Packet, packetHeaderBytes } from './packets.ts';
import { createPodLink, type OpenPodStream } from './podLink.ts';
import type { Hello } from './protocol.ts';

const empty: Buffer = Buffer.alloc(0);

/** The same numbers for the same seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A stream between the worker and the container, as long as the worker knows of it and after that. */
interface Line {
  up: Buffer;
  isOpen: boolean;
  onOutput(bytes: Buffer): void;
  onClose(why: string): void;
}

interface PipeOptions {
  /** How many bytes are carried next in each direction. */
  readonly pieceBytes: (pending: number) => number;
  /** Called before each piece. Returns true to cut the stream. */
  readonly isCut: (carried: { readonly up: number; readonly down: number }) => boolean;
  /** Whether a stream that was cut goes on to deliver what it has. */
  readonly lingers: () => boolean;
}

/** The container engine: input of all streams gets mixed, and output goes to all who are attached, or is lost. */
function createPipe({ pieceBytes, isCut, lingers }: PipeOptions) {
  const carried = { up: 0, down: 0 };
  let lines: Line[] = [];
  let down: Buffer = empty;
  let read: (bytes: Buffer) => void = () => {};
  let cuts = 0;

  function cut(line: Line): void {
    if (!line.isOpen) return;
    line.isOpen = false;
    cuts += 1;
    if (!lingers()) lines = lines.filter((one) => one !== line);
    line.onClose('it was cut');
  }

  const cutIfDue = () => {
    if (!isCut(carried)) return false;
    for (const line of [...lines]) cut(line);
    return true;
  };

  const open: OpenPodStream = async ({ onOutput, onClose }) => {
    const line: Line = { up: empty, isOpen: true, onOutput, onClose };
    lines.push(line);
    return {
      send: (bytes) => {
        if (line.isOpen) line.up = Buffer.concat([line.up, bytes]);
      },
      close: () => {
        line.isOpen = false;
        if (!lingers()) lines = lines.filter((one) => one !== line);
      },
    };
  };

  function step(): void {
    for (const line of [...lines]) {
      if (line.up.length === 0 || cutIfDue()) continue;
      const size = pieceBytes(line.up.length);
      const piece = line.up.subarray(0, size);
      line.up = line.up.subarray(size);
      carried.up += piece.length;
      read(piece);
    }
    lines = lines.filter((line) => line.isOpen || line.up.length > 0);
    if (down.length === 0 || cutIfDue()) return;
    const size = pieceBytes(down.length);
    const piece = down.subarray(0, size);
    down = down.subarray(size);
    carried.down += piece.length;
    for (const line of lines) if (line.isOpen) line.onOutput(Buffer.from(piece));
  }

  return {
    open,
    step,
    cuts: () => cuts,
    readWith: (reader: (bytes: Buffer) => void) => {
      read = reader;
    },
    write: (bytes: Buffer) => {
      down = Buffer.concat([down, bytes]);
    },
  };
}

interface EndsOptions extends PipeOptions {
  readonly onWorkerFrame: (frame: Frame) => void;
  readonly onPodFrame: (frame: Frame) => void;
  readonly onRoom?: () => void;
}

/** Nothing is lost because of time, however slow the machine is. */
const times = { heartbeatMs: 5, againMs: 1, quietMs: 600_000, silenceMs: 600_000 };

function connectEnds(t: TestContext, options: EndsOptions) {
  const { onRoom = () => {} } = options;
  const pipe = createPipe(options);
  const lost: string[] = [];
  const pod = createWorkerLink({
    write: pipe.write,
    onFrame: options.onPodFrame,
    onRoom,
    onHeartbeat: () => {},
    onOverflow: () => lost.push('overflow'),
  });
  pipe.readWith(pod.read);
  const worker = createPodLink({
    open: pipe.open,
    isHeld: () => true,
    hasEnded: async () => false,
    onWelcome: () => {},
    onFrame: options.onWorkerFrame,
    onRoom,
    onLost: (why) => lost.push(why),
    times,
  });
  t.after(() => worker.close());

  /** Carries bytes until the condition holds. */
  async function runUntil(isDone: () => boolean): Promise<void> {
    await until('everything has arrived', async () => {
      // Many steps for each look at the clock.
      for (let n = 0; n < 2_000 && lost.length === 0 && !isDone(); n++) {
        pipe.step();
        await tick();
      }
      return lost.length > 0 || isDone();
    });
    assert.deepEqual(lost, []);
  }

  return { pipe, pod, worker, runUntil };
}

const control = (n: number): Frame => ({
  kind: 'control',
  channel: 0,
  payload: Buffer.from(`${n}`.padEnd(1 + (n % 7) * 13, '.')),
});

/** Sends frames in both directions, and checks that each arrives once and in order. */
async function exchange(t: TestContext, frames: number, options: PipeOptions) {
  const got = { worker: [] as string[], pod: [] as string[] };
  const ends = connectEnds(t, {
    ...options,
    onWorkerFrame: ({ payload }) => got.worker.push(payload.toString()),
    onPodFrame: ({ payload }) => got.pod.push(payload.toString()),
  });
  const wanted = Array.from({ length: frames }, (_, n) => control(n));
  await ends.worker.connect();
  for (const frame of wanted) {
    ends.worker.send(encodeFrame(frame));
    ends.pod.send(encodeFrame(frame));
    ends.pipe.step();
  }
  await ends.runUntil(() => got.worker.length >= frames && got.pod.length >= frames);
  // What is still on its way must not arrive a second time.
  for (let n = 0; n < 20; n++) {
    ends.pipe.step();
    await tick();
  }
  const texts = wanted.map(({ payload }) => payload.toString());
  assert.deepEqual(got, { worker: texts, pod: texts });
  ends.worker.close();
  return ends.pipe;
}

describe('a link whose stream breaks', () => {
  const whole = { pieceBytes: (pending: number) => pending, lingers: () => false };

  for (const direction of ['up', 'down'] as const)
    it(`delivers each frame once and in order, wherever it is cut (${direction})`, async (t) => {
      // Pings and confirmations make it longer at times.
      let cuts = 1;
      for (let at = 0; cuts > 0 && at < 2_000; at++) {
        // The piece before the cut ends exactly there.
        let done = 0;
        let isDone = false;
        const pipe = await exchange(t, 4, {
          ...whole,
          pieceBytes: (pending) => (isDone ? pending : Math.max(1, Math.min(pending, at - done))),
          isCut: (now) => {
            done = now[direction];
            if (isDone || done < at) return false;
            isDone = true;
            return true;
          },
        });
        cuts = pipe.cuts();
        assert.ok(cuts > 0 || at > 300, `a cut at ${at}`);
      }
    });

  it('delivers everything once and in order over channels, with cuts at random, and what streams deliver late', async (t) => {
    for (let seed = 0; seed < 25; seed++) {
      const random = createRandom(seed);
      let cutsLeft = 12;
      const worker = createMultiplexer({
        side: 'worker',
        send: (frame) => ends.worker.send(frame),
        hasRoom: () => ends.worker.hasRoom(),
        onOpen: (channel) => channel.pipe(channel),
        onControl: () => {},
      });
      const pod = createMultiplexer({
        side: 'supervisor',
        send: (frame) => ends.pod.send(frame),
        hasRoom: () => ends.pod.hasRoom(),
        onOpen: (channel) => channel.pipe(channel),
        onControl: () => {},
      });
      const ends = connectEnds(t, {
        pieceBytes: (pending) => 1 + random(random(3) === 0 ? 40 : Math.min(pending, 90_000)),
        isCut: () => cutsLeft > 0 && random(40) === 0 && cutsLeft-- > 0,
        lingers: () => random(2) === 0,
        onWorkerFrame: (frame) => worker.receive(frame),
        onPodFrame: (frame) => pod.receive(frame),
        onRoom: () => {
          worker.proceed();
          pod.proceed();
        },
      });
      await ends.worker.connect();
      let open = 0;
      const echo = async (channel: Duplex) => {
        const sent = randomBytes(1 + random(300_000));
        open += 1;
        channel.write(sent.subarray(0, sent.length >> 1));
        channel.end(sent.subarray(sent.length >> 1));
        const got = await buffer(channel);
        assert.ok(got.equals(sent), `seed ${seed}`);
        open -= 1;
      };
      const echoes = [worker, pod, worker, pod].map((one) => echo(one.open({}).channel));
      await ends.runUntil(() => open === 0);
      await Promise.all(echoes);
      ends.worker.close();
    }
  });
});

describe('a reader of packets', () => {
  const mark = randomBytes(markBytes);
  const packet = (number: number, payload = `payload ${number}`): Packet => ({
    kind: 'frame',
    epoch: 1,
    number,
    payload: Buffer.from(payload),
  });

  function numbersIn(bytes: Buffer, isStrict: boolean, size = bytes.length): number[] {
    const numbers: number[] = [];
    const onPacket = ({ number }: Packet) => numbers.push(number);
    const read = createPacketReader({ mark: () => mark, isStrict, onPacket });
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
    return numbers;
  }

  it('finds the packets after one that ends early or is mixed with something, however they are cut', () => {
    const [one, two, three] = [1, 2, 3].map((n) => encodePacket(mark, packet(n)));
    assert.ok(one && two && three);
    for (let end = 0; end < two.length; end++)
      for (const size of [1, 7, 1_000]) {
        const cut = Buffer.concat([one, two.subarray(0, end), three]);
        assert.deepEqual(numbersIn(cut, false, size), [1, 3], `ends at ${end}`);
        const stale = one.subarray(5, 40);
        const mixed = Buffer.concat([two.subarray(0, end), stale, two.subarray(end), three]);
        const numbers = numbersIn(mixed, false, size);
        assert.deepEqual(numbers, end === 0 ? [2, 3] : [3], `mixed at ${end}`);
      }
  });

  it('refuses everything but packets if it is strict', () => {
    const good = encodePacket(mark, packet(1));
    assert.deepEqual(numbersIn(Buffer.concat([good, good]), true, 1), [1, 1]);
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ 1;
      // A wrong size may also make it wait for more.
      const more = Buffer.concat([bad, good, Buffer.alloc(70_000)]);
      assert.throws(() => numbersIn(more, true), ProtocolError, `byte ${at}`);
    }
    const large = encodePacket(mark, packet(1, 'x'.repeat(70_000)));
    assert.throws(() => numbersIn(large.subarray(0, packetHeaderBytes), true), ProtocolError);
  });
});

describe('what a pod sends', () => {
  it('is encrypted differently in each stream, even if a worker used a key twice', () => {
    const key = randomBytes(32).toString('base64');
    const [one, other] = [createEncryption(key), createEncryption(key)];
    const bytes = Buffer.alloc(1_000, 'the same');
    assert.ok(!one.encrypt(bytes).equals(other.encrypt(bytes)));
    assert.ok(!one.prelude.equals(other.prelude));
  });
});

describe('a hostile pod', () => {
  /** A pod that answers the hello as it likes. */
  async function connectTo(
    t: TestContext,
    talk: (send: (packet: Omit<Packet, 'epoch'> & { epoch?: number }) => void, received: number) => void,
  ) {
    const lost = Promise.withResolvers<{ why: string; hasBrokenProtocol: boolean }>();
    let isTalking = false;
    let sent = 0;
    const worker = createPodLink({
      open: async ({ onOutput }) => ({
        send: (bytes) => {
          sent += bytes.length;
          if (isTalking) return;
          isTalking = true;
          const read = createPacketReader({
            mark: () => bytes.subarray(0, markBytes),
            isStrict: true,
            onPacket: ({ epoch, payload }) => {
              const { mark, key } = JSON.parse(payload.toString()) as Hello;
              const { prelude, encrypt } = createEncryption(key);
              onOutput(prelude);
              talk(
                (packet) =>
                  onOutput(encrypt(encodePacket(Buffer.from(mark, 'base64'), { epoch, ...packet }))),
                epoch,
              );
            },
          });
          setImmediate(() => read(bytes));
        },
        close: () => {},
      }),
      isHeld: () => true,
      hasEnded: async () => false,
      onWelcome: () => {},
      onFrame: () => {},
      onRoom: () => {},
      onLost: (why, hasBrokenProtocol) => lost.resolve({ why, hasBrokenProtocol }),
      times: { ...times, heartbeatMs: 2 },
    });
    t.after(() => worker.close());
    await worker.connect();
    return { worker, lost: lost.promise, sent: () => sent };
  }

  const welcome = {
    kind: 'welcome',
    number: 0,
    payload: Buffer.from('{"protocol":2,"node":"node"}'),
  } as const;
  const frame = (number: number) => ({ kind: 'frame', number, payload: encodeFrame(control(1)) }) as const;

  const cases: readonly (readonly [
    why: RegExp,
    ...packets: (Omit<Packet, 'epoch'> & { epoch?: number })[],
  ])[] = [
    [/not a welcome/, frame(1)],
    [/not JSON/, { ...welcome, payload: Buffer.from('{') }],
    [/not sent/, { ...welcome, number: 1 }],
    [/wrong time/, welcome, welcome],
    [/wrong time/, welcome, { kind: 'hello', number: 0, payload: Buffer.from('{}') }],
    [/missing/, welcome, frame(2)],
    [/not sent/, welcome, { kind: 'ack', number: 1, payload: empty }],
    [/not sent/, welcome, { kind: 'again', number: 2 ** 40, payload: empty }],
    [/another stream/, { ...welcome, epoch: 7 }],
    [/cut off/, welcome, { kind: 'frame', number: 1, payload: empty }],
  ];
  for (const [why, ...packets] of cases)
    it(`ends only its own run: ${why.source} (${packets.map(({ kind, number }) => `${kind} ${number}`).join(', ')})`, async (t) => {
      const { lost } = await connectTo(t, (send) => {
        for (const packet of packets) send(packet);
      });
      const { why: reason, hasBrokenProtocol } = await lost;
      assert.match(reason, why);
      assert.ok(hasBrokenProtocol);
    });

  it('that confirms nothing gets a bounded amount, and is given up if it makes the worker send more', async (t) => {
    const { worker, lost } = await connectTo(t, (send) => send(welcome));
    const data = encodeFrame({ kind: 'data', channel: 1, payload: Buffer.alloc(64 * 1_024) });
    let bytes = 0;
    for (; worker.hasRoom(); bytes += data.length) worker.send(data);
    assert.ok(bytes <= roomBytes + data.length, String(bytes));
    const small = encodeFrame({ kind: 'reset', channel: 1, payload: empty });
    for (let n = 0; n < keptBytesMax / 256; n++) worker.send(small);
    assert.match((await lost).why, /confirms nothing/);
  });

  it('cannot make the worker repeat more often than it asks', () => {
    let frames = 0;
    const link = createLink({
      transmit: ({ kind }) => {
        frames += kind === 'frame' ? 1 : 0;
      },
      onFrame: () => {},
      onRoom: () => {},
      onOverflow: () => {},
      isReliable: true,
    });
    link.resume(0);
    for (let n = 0; n < 10; n++) link.send(encodeFrame(control(n)));
    const again = { kind: 'again', epoch: 1, number: 0, payload: empty } as const;
    for (let n = 0; n < 100; n++) link.receive(again);
    assert.equal(frames, 10);
    link.ping();
    for (let n = 0; n < 100; n++) link.receive(again);
    assert.equal(frames, 20);
  });
});

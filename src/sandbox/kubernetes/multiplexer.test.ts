import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import fc from 'fast-check';
import { decodeFrame, type Frame, type FrameKind, ProtocolError, payloadBytesMax } from './frames.ts';
import { channelsMax, createMultiplexer, type Multiplexer, windowBytes } from './multiplexer.ts';
import { createPacketReader, encodePacket, markBytes } from './packets.ts';

interface Opened {
  readonly channel: Duplex;
  readonly id: number;
  readonly about: unknown;
}

interface Ends {
  readonly worker: Multiplexer;
  readonly supervisor: Multiplexer;
  readonly opened: Opened[];
  /** The largest number of bytes that were on their way or unread. */
  sent(): number;
  /** Delivers everything that was sent, in pieces of these sizes. */
  deliver(sizes?: readonly number[]): void;
}

const mark = Buffer.alloc(markBytes, 'mark');

/** The worker may send so many frames of data. */
function connectedEnds(room = { frames: Number.POSITIVE_INFINITY }): Ends {
  const opened: Opened[] = [];
  const queues = { worker: [] as Buffer[], supervisor: [] as Buffer[] };
  let sent = 0;
  const end = (side: 'worker' | 'supervisor') =>
    createMultiplexer({
      side,
      send: (payload) => {
        sent += payload.length;
        if (side === 'worker' && decodeFrame(payload).kind === 'data') room.frames -= 1;
        queues[side].push(encodePacket(mark, { kind: 'frame', epoch: 1, number: 1, payload }));
      },
      hasRoom: () => side === 'supervisor' || room.frames > 0,
      onOpen: (channel, id, about) => opened.push({ channel, id, about }),
      onControl: () => {},
    });
  const ends = { worker: end('worker'), supervisor: end('supervisor') };
  const readerFor = (side: 'worker' | 'supervisor') =>
    createPacketReader({
      mark: () => mark,
      isStrict: true,
      onPacket: ({ payload }) => ends[side].receive(decodeFrame(payload)),
    });
  const readers = { worker: readerFor('supervisor'), supervisor: readerFor('worker') };
  const deliver = (sizes: readonly number[] = []) => {
    for (const side of ['worker', 'supervisor'] as const) {
      let bytes = Buffer.concat(queues[side].splice(0));
      for (let i = 0; bytes.length > 0; i++) {
        const size = sizes.length === 0 ? bytes.length : (sizes[i % sizes.length] ?? 1);
        readers[side](bytes.subarray(0, size));
        bytes = bytes.subarray(size);
      }
    }
  };
  return { ...ends, opened, sent: () => sent, deliver };
}

const frame = (kind: FrameKind, channel: number, payload: string | Buffer = ''): Frame => ({
  kind,
  channel,
  payload: Buffer.from(payload as string),
});

const credit = (bytes: number) => {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return payload;
};

describe('channels over one connection', () => {
  it('deliver the bytes of each in order, however writes and pieces are interleaved', async () => {
    const writes = fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 1, max: 150_000 })), {
      minLength: 1,
      maxLength: 20,
    });
    const sizes = fc.array(fc.integer({ min: 300, max: 90_000 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(writes, sizes, fc.boolean(), async (plan, pieces, isWorker) => {
        const ends = connectedEnds();
        const { worker, supervisor, opened } = ends;
        const from = isWorker ? worker : supervisor;
        const channels = [0, 1, 2, 3].map((n) => from.open({ n }));
        const wanted = channels.map(() => [] as Buffer[]);
        const got = channels.map(() => [] as Buffer[]);
        ends.deliver();
        assert.deepEqual(
          opened.map(({ about }) => about),
          channels.map((_, n) => ({ n })),
        );
        for (const [n, { channel }] of opened.entries())
          channel.on('data', (bytes: Buffer) => got[n]?.push(Buffer.from(bytes)));
        for (const [n, size] of plan) {
          const bytes = Buffer.alloc(size, `${n}${wanted[n]?.length}`);
          wanted[n]?.push(bytes);
          channels[n]?.channel.write(bytes);
        }
        for (const { channel } of channels) channel.end();
        const ended = Promise.all(opened.map(({ channel }) => once(channel, 'end')));
        let isOver = false;
        void ended.then(() => (isOver = true));
        while (!isOver) {
          ends.deliver(pieces);
          await tick();
        }
        for (const [n, bytes] of wanted.entries())
          assert.ok(Buffer.concat(bytes).equals(Buffer.concat(got[n] ?? [])), `channel ${n}`);
      }),
      { numRuns: 25 },
    );
  });

  it('never hold more of a channel than its window, while others go on', async () => {
    const ends = connectedEnds();
    const slow = ends.worker.open({ slow: true }).channel;
    const quick = ends.worker.open({ slow: false }).channel;
    slow.write(Buffer.alloc(10 * windowBytes));
    for (let round = 0; round < 20; round++) {
      ends.deliver();
      await tick();
    }
    const [unread, other] = ends.opened;
    assert.ok(unread !== undefined && other !== undefined);
    // What is ready to be read counts as consumed up to half a window.
    assert.ok(unread.channel.readableLength <= 1.5 * windowBytes, String(unread.channel.readableLength));
    assert.ok(ends.sent() < 2 * windowBytes);
    quick.end('still here');
    ends.deliver();
    assert.equal(String((await once(other.channel, 'data'))[0]), 'still here');
  });

  it('wait while there is no room, and then take turns', async () => {
    const room = { frames: 0 };
    const ends = connectedEnds(room);
    const channels = [0, 1, 2].map((n) => ends.worker.open({ n }).channel);
    ends.deliver();
    const got = ends.opened.map(() => 0);
    for (const [n, { channel }] of ends.opened.entries())
      channel.on('data', (bytes: Buffer) => {
        got[n] = (got[n] ?? 0) + bytes.length;
      });
    for (const channel of channels) channel.write(Buffer.alloc(3 * payloadBytesMax));
    ends.deliver();
    assert.deepEqual(got, [0, 0, 0]);
    for (let round = 1; round <= 9; round++) {
      room.frames = 1;
      ends.worker.proceed();
      assert.equal(room.frames, 0);
      ends.deliver();
      await tick();
      if (round === 3) assert.deepEqual(got, [payloadBytesMax, payloadBytesMax, payloadBytesMax]);
    }
    assert.deepEqual(got, [3 * payloadBytesMax, 3 * payloadBytesMax, 3 * payloadBytesMax]);
  });

  it('end for both sides when one closes them, also if the other is writing', async () => {
    const ends = connectedEnds();
    const { channel } = ends.worker.open({});
    ends.deliver();
    const [other] = ends.opened;
    const failed = once(channel, 'error');
    channel.write(Buffer.alloc(3 * windowBytes));
    ends.deliver();
    other?.channel.destroy();
    ends.deliver();
    await failed;
    assert.ok(channel.destroyed);
    // Frames of a channel that is closed are ignored.
    ends.deliver();
  });

  it('end with an error when the connection does', async () => {
    const { worker } = connectedEnds();
    const { channel } = worker.open({});
    const failed = once(channel, 'error');
    worker.close(new Error('the pod is gone'));
    assert.match(String((await failed)[0]), /the pod is gone/);
    assert.throws(() => worker.open({}), /closed/);
  });
});

describe('a hostile end of the connection', () => {
  const hostile: readonly (readonly [why: RegExp, ...frames: Frame[]])[] = [
    [/not open/, frame('data', 4, 'x')],
    [/not open/, frame('credit', 3, credit(1))],
    [/wrong id/, frame('open', 3, '{}')],
    [/wrong id/, frame('open', 2, '{}'), frame('open', 2, '{}')],
    [/not JSON/, frame('open', 2, 'no')],
    [/not JSON/, frame('control', 0, '{')],
    [/exceeded/, ...Array.from({ length: 5 }, () => frame('data', 1, Buffer.alloc(64 * 1_024)))],
    [/after its end/, frame('end', 1), frame('data', 1, 'x')],
    [/twice/, frame('end', 1), frame('end', 1)],
    [/too much credit/, frame('credit', 1, credit(1))],
    [/too much credit/, frame('credit', 1, credit(2 ** 32 - 1))],
    [/too much credit/, frame('credit', 1, credit(0))],
    [/too many channels/, ...Array.from({ length: channelsMax }, (_, n) => frame('open', 2 * (n + 1), '{}'))],
  ];

  for (const [why, ...frames] of hostile)
    it(`is refused: ${why.source} (${frames[0]?.kind} ${frames[0]?.payload.length})`, () => {
      const { worker } = connectedEnds();
      worker.open({});
      assert.throws(
        () => {
          for (const one of frames) worker.receive(one);
        },
        (error: Error) => error instanceof ProtocolError && why.test(error.message),
      );
    });

  it('is refused for frames of wrong kinds, sizes and channels', () => {
    const encoded = (kind: number, channel: number, size: number) => {
      const bytes = Buffer.alloc(5 + size);
      bytes.writeUInt8(kind, 0);
      bytes.writeUInt32BE(channel, 1);
      return bytes;
    };
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.alloc(4),
      encoded(6, 1, 1),
      encoded(255, 1, 1),
      encoded(2, 1, 64 * 1_024 + 1),
      encoded(2, 1, 0),
      encoded(2, 0, 1),
      encoded(0, 1, 1),
      encoded(1, 1, 1_025),
      encoded(3, 1, 3),
      encoded(4, 1, 1),
      encoded(5, 1, 1),
    ])
      assert.throws(() => decodeFrame(bytes), ProtocolError, bytes.subarray(0, 20).toString('hex'));
  });

  it('never makes the reader fail in another way, whatever it sends', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (frames) => {
        const { worker } = connectedEnds();
        try {
          for (const one of frames) worker.receive(decodeFrame(Buffer.from(one)));
        } catch (error) {
          assert.ok(error instanceof ProtocolError, String(error));
        }
      }),
    );
  });
});

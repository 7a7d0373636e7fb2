import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { piecesMaxOf } from './bounds.ts';
import { createBlobBox, DamagedSnapshot, newBlobName, packContents, unpackContents } from './contents.ts';
import { readFrames, toFrame } from './inside/frames.ts';
import { findEnd } from './inside/pieces.ts';
import { frameBytesMax, pieceBytes } from './inside/sections.ts';

const owner = { id: 'f1', user_id: 1, conversation_id: 'c1' };

describe('a blob', () => {
  const key = randomBytes(32);
  const box = createBlobBox(key, owner);
  const blob = box.seal('b1', Buffer.from('content'));

  it('can only be read under its name, for its conversation, and as it was written', () => {
    assert.equal(box.open('b1', blob).toString(), 'content');
    const changed = Buffer.from(blob);
    changed[20] = (changed[20] ?? 0) ^ 1;
    const others: (() => Buffer)[] = [
      () => box.open('b2', blob),
      () => box.open('b1', changed),
      () => box.open('b1', blob.subarray(0, -1)),
      () => box.open('b1', Buffer.alloc(0)),
      () => createBlobBox(key, { ...owner, conversation_id: 'c2' }).open('b1', blob),
      () => createBlobBox(key, { ...owner, user_id: 2 }).open('b1', blob),
      () => createBlobBox(key, { ...owner, id: 'f2' }).open('b1', blob),
      () => createBlobBox(randomBytes(32), owner).open('b1', blob),
    ];
    for (const open of others) assert.throws(open, DamagedSnapshot);
  });

  it('has a digest that depends on the key', () => {
    const bytes = Buffer.from('x');
    assert.equal(box.digest(bytes), createBlobBox(key, owner).digest(bytes));
    assert.notEqual(box.digest(bytes), createBlobBox(randomBytes(32), owner).digest(bytes));
  });
});

describe('the list of pieces', () => {
  it('is read as it was written, and refused if a newer version wrote it', async () => {
    const contents = { hasRepository: true, pieces: { files: [{ name: 'a', digest: 'b' }] } };
    assert.deepEqual(await unpackContents(await packContents(contents)), contents);
    const newer = await packContents({ ...contents, version: 2 } as typeof contents);
    await assert.rejects(unpackContents(newer), DamagedSnapshot);
  });

  it('can be read again if a copy has as many pieces as it may, however large snapshots may be', async () => {
    const box = createBlobBox(randomBytes(32), owner);
    const piece = { name: newBlobName(), digest: box.digest(Buffer.alloc(1)) };
    const pieces = { files: Array.from({ length: piecesMaxOf(Number.MAX_SAFE_INTEGER) }, () => piece) };
    const read = await unpackContents(await packContents({ hasRepository: true, pieces }));
    assert.equal(read.pieces.files?.length, pieces.files.length);
  });
});

/** Cuts bytes that arrive in parts. */
function cut(parts: readonly Buffer[]): number[] {
  const lengths: number[] = [];
  let length = 0;
  const state = { hash: 0 };
  for (let part of parts) {
    for (let end = findEnd(part, length, state); end >= 0; end = findEnd(part, length, state)) {
      lengths.push(length + end);
      length = 0;
      part = part.subarray(end);
    }
    length += part.length;
  }
  return [...lengths, length];
}

describe('pieces', () => {
  const bytes = randomBytes(20_000_000);
  const split = (at: number) => [bytes.subarray(0, at), bytes.subarray(at)];

  it('have the same ends however the bytes arrive, within the bounds', () => {
    const whole = cut([bytes]);
    assert.ok(whole.length > 5);
    assert.ok(whole.slice(0, -1).every((length) => length >= pieceBytes.min && length <= pieceBytes.max));
    for (const at of [1, 262_143, 262_144, 1_000_003]) assert.deepEqual(cut(split(at)), whole);
  });

  it('stay the same after an insertion, except for those around it', () => {
    const before = cut([bytes]);
    const after = cut([bytes.subarray(0, 5_000_000), Buffer.from('inserted'), bytes.subarray(5_000_000)]);
    const same = after.filter((length) => before.includes(length));
    assert.ok(same.length >= before.length - 3, `${same.length} of ${before.length}`);
  });

  it('are cut at the maximum if the bytes are all alike', () => {
    const lengths = cut([Buffer.alloc(3 * pieceBytes.max + 5)]);
    assert.ok(lengths.every((length) => length <= pieceBytes.max));
  });
});

describe('frames', () => {
  it('are read as they were written, however the bytes arrive', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 10 }),
        fc.integer({ min: 1, max: 20 }),
        async (payloads, size) => {
          const stream = Buffer.concat(payloads.map((payload, i) => toFrame(i, Buffer.from(payload))));
          const parts = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
            stream.subarray(i * size, (i + 1) * size),
          );
          const found: Buffer[] = [];
          for await (const { type, payload } of readFrames(
            (async function* () {
              yield* parts;
            })(),
          )) {
            assert.equal(type, found.length);
            found.push(Buffer.from(payload));
          }
          assert.deepEqual(
            found,
            payloads.map((payload) => Buffer.from(payload)),
          );
        },
      ),
    );
  });

  it('are refused if they are too large', async () => {
    const header = Buffer.alloc(5);
    header.writeUInt32BE(frameBytesMax + 1, 1);
    const frames = readFrames(
      (async function* () {
        yield header;
      })(),
    );
    await assert.rejects(frames.next());
  });
});

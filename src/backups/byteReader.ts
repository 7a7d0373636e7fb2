// Reads exact numbers of bytes from a stream, and never holds more than was asked for and one piece.

export class TruncatedError extends Error {}

export interface ByteReader {
  /** Exactly this many bytes. Throws TruncatedError if the stream ends before. */
  take(bytes: number): Promise<Buffer>;
  /** At most this many bytes; none at the end of the stream. */
  takeSome(bytesMax: number): Promise<Buffer>;
}

export function createByteReader(stream: AsyncIterable<Buffer>): ByteReader {
  const pieces = stream[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  async function takeSome(bytesMax: number): Promise<Buffer> {
    while (held.length === 0) {
      const next = await pieces.next();
      if (next.done) return held;
      held = next.value;
    }
    const taken = held.subarray(0, bytesMax);
    held = held.subarray(taken.length);
    return taken;
  }

  async function take(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = bytes; left > 0; ) {
      const part = await takeSome(left);
      if (part.length === 0) throw new TruncatedError('the file ends too early');
      parts.push(part);
      left -= part.length;
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  return { take, takeSome };
}

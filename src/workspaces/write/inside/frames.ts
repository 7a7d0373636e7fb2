// Splits standard input into frames.
import { frameBytesMax, frameHeaderBytes } from './request.ts';

export interface Frame {
  readonly type: number;
  readonly payload: Buffer;
}

/** Ends early if the input does. */
export async function* readFrames(input: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of input) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let at = 0;
    while (rest.length - at >= frameHeaderBytes) {
      const length = rest.readUInt32BE(at + 1);
      if (length > frameBytesMax) throw new Error('a frame is too large');
      const end = at + frameHeaderBytes + length;
      if (end > rest.length) break;
      yield { type: rest.readUInt8(at), payload: rest.subarray(at + frameHeaderBytes, end) };
      at = end;
    }
    rest = rest.subarray(at);
  }
}

// Splits a stream into frames. Used on both sides.
import { frameBytesMax, frameHeaderBytes } from './sections.ts';

export interface Frame {
  readonly type: number;
  readonly payload: Buffer;
}

/** Ends early if the input does. Throws if a frame is too large. Holds at most one frame and one part of the input. */
export async function* readFrames(input: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let parts: Buffer[] = [];
  let length = 0;
  let wanted = frameHeaderBytes;
  for await (const part of input) {
    parts.push(part);
    length += part.length;
    if (length < wanted) continue;
    let bytes = Buffer.concat(parts);
    for (;;) {
      if (bytes.length < frameHeaderBytes) {
        wanted = frameHeaderBytes;
        break;
      }
      const size = bytes.readUInt32BE(1);
      if (size > frameBytesMax) throw new Error('a frame is too large');
      wanted = frameHeaderBytes + size;
      if (bytes.length < wanted) break;
      yield { type: bytes.readUInt8(0), payload: bytes.subarray(frameHeaderBytes, wanted) };
      bytes = bytes.subarray(wanted);
    }
    parts = [bytes];
    length = bytes.length;
  }
}

export function toFrame(type: number, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(frameHeaderBytes + payload.length);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt32BE(payload.length, 1);
  payload.copy(bytes, frameHeaderBytes);
  return bytes;
}

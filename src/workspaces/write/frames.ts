// Files on their way into a workspace, and the frames in which the program inside gets them.
import { frameHeaderBytes, frameTypes } from './inside/request.ts';

export interface NewFile {
  readonly name: string;
  /** Read to its end before the next file. */
  readonly content: AsyncIterable<Buffer>;
}

const pieceBytesMax = 65_536;

function header(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(frameHeaderBytes);
  bytes.writeUInt8(type, 0);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

/** The last frame is sent only if all files were read completely. */
export async function* toFrames(files: AsyncIterable<NewFile>): AsyncGenerator<Buffer> {
  for await (const { name, content } of files) {
    const named = Buffer.from(name);
    yield Buffer.concat([header(frameTypes.file, named.length), named]);
    for await (const piece of content)
      for (let at = 0; at < piece.length; at += pieceBytesMax) {
        const part = piece.subarray(at, at + pieceBytesMax);
        yield header(frameTypes.data, part.length);
        yield part;
      }
  }
  yield header(frameTypes.commit, 0);
}

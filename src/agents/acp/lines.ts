// Reads a stream line by line. Nothing more is read while a line is being handled, so that a fast writer has to wait.
import type { Readable } from 'node:stream';

const newline = 0x0a;

export class LineTooLongError extends Error {}

/**
 * Resolves at the end of the stream, even if the stream breaks. Rejects if a line is too long or `take` throws.
 */
export async function readLines(
  stream: Readable,
  lineBytesMax: number,
  take: (line: Buffer) => void | Promise<void>,
): Promise<void> {
  let pieces: Buffer[] = [];
  let size = 0;
  const add = (piece: Buffer) => {
    size += piece.length;
    if (size > lineBytesMax) throw new LineTooLongError();
    pieces.push(piece);
  };
  for await (const chunk of quietly(stream)) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, at));
      const line = Buffer.concat(pieces);
      [pieces, size, from] = [[], 0, at + 1];
      await take(line);
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
}

/** A broken pipe counts as the end of the stream. The end of the process shows the reason. */
async function* quietly(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch {
    // See above.
  }
}

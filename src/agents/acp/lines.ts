// Lines of a stream, taken one after the other: as long as one is not dealt with, nothing more is read, so that who
// writes too fast has to wait.
import type { Readable } from 'node:stream';

const newline = 0x0a;

export class LineTooLongError extends Error {}

/**
 * Settles at the end of the stream, however it comes. Rejects for a line past the bound, and with what `take` throws.
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

/** A pipe that breaks has ended; why is told by the end of the process. */
async function* quietly(stream: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch {
    // As said.
  }
}

// Keeps the last output of a program, for people who want to know why it ended.
import type { Readable } from 'node:stream';

/** Starts truncated text after a line or a word, so that no half of a secret is left. */
function wholeFrom(text: string): string {
  const line = text.indexOf('\n') + 1;
  return text.slice(line > 0 && line < text.length ? line : text.indexOf(' ') + 1 || text.length);
}

/** Output kept before the tail, so that a secret at its start is found as a whole. */
const beforeBytes = 4_096;

/** For text without lines or words. A secret in which the last bytes start is hidden as a whole. */
function lastBytes(tail: Buffer, bytesMax: number, hide: (text: string) => string): string {
  const before = hide(tail.subarray(0, -bytesMax).toString());
  const all = hide(tail.toString());
  let start = 0;
  while (start < before.length && all[start] === before[start]) start++;
  return all.slice(start);
}

/**
 * Returns a function that returns the end of the output so far. `hide` removes secrets from a text; without it, output
 * that has neither lines nor words is left out.
 */
export function keepTail(
  streams: readonly Readable[],
  bytesMax: number,
  hide?: (text: string) => string,
): () => string {
  let tail = Buffer.alloc(0);
  for (const stream of streams)
    stream.on('data', (piece: Buffer) => {
      tail = Buffer.concat([tail, piece]).subarray(-bytesMax - beforeBytes);
    });
  return () => {
    if (tail.length <= bytesMax) return tail.toString();
    const whole = wholeFrom(tail.subarray(-bytesMax).toString());
    return whole === '' && hide !== undefined ? lastBytes(tail, bytesMax, hide) : whole;
  };
}

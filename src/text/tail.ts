// The last that a program wrote, for people who want to know why it ended. All the rest is let go.
import type { Readable } from 'node:stream';

/** Where a text that was cut begins anew: after a line, or else after a word, so that no half of a secret is left. */
function wholeFrom(text: string): string {
  const line = text.indexOf('\n') + 1;
  return text.slice(line > 0 && line < text.length ? line : text.indexOf(' ') + 1 || text.length);
}

/** A secret of up to so many bytes is found whole, also where the text that is shown begins in its midst. */
const beforeBytes = 4_096;

/** The last bytes of a text without any place to cut it: what they hold is hidden before the rest is left out. */
function lastBytes(tail: Buffer, bytesMax: number, hide: (text: string) => string): string {
  const before = hide(tail.subarray(0, -bytesMax).toString());
  return hide(tail.toString()).slice(before.length);
}

/**
 * What is returned gives the end of what has come so far. `hide` takes secrets out of a text; without it, nothing is
 * kept of output that has neither lines nor words.
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

// The last that a program wrote, for people who want to know why it ended. All the rest is let go.
import type { Readable } from 'node:stream';

/** Where a text that was cut begins anew: after a line, or else after a word, so that no half of a secret is left. */
function wholeFrom(text: string): string {
  const line = text.indexOf('\n') + 1;
  return text.slice(line > 0 && line < text.length ? line : text.indexOf(' ') + 1 || text.length);
}

/** What is returned gives the end of what has come so far. */
export function keepTail(streams: readonly Readable[], bytesMax: number): () => string {
  let tail = Buffer.alloc(0);
  let cut = false;
  for (const stream of streams)
    stream.on('data', (piece: Buffer) => {
      const all = Buffer.concat([tail, piece]);
      cut ||= all.length > bytesMax;
      tail = all.subarray(-bytesMax);
    });
  return () => (cut ? wholeFrom(tail.toString()) : tail.toString());
}

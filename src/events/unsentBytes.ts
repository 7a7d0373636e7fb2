// Limits the memory for events that clients have not taken yet, of all streams together. Otherwise a user could open
// many streams of a conversation with large images, and read none of them.
import { kib, mib } from '../validation/schema.ts';

const allBytesMax = 256 * mib;
/** A stream with less is never closed, so that one user cannot close the streams of others. */
const streamBytesMax = 256 * kib;

export type UnsentBytes = ReturnType<typeof createUnsentBytes>;

export function createUnsentBytes(bytesMax = allBytesMax) {
  /** How many streams hold each buffer: live subscribers share theirs, which counts once. */
  const holders = new Map<Buffer, number>();
  let all = 0;

  function hold(buffer: Buffer): void {
    const count = holders.get(buffer) ?? 0;
    if (count === 0) all += buffer.length;
    holders.set(buffer, count + 1);
  }

  function release(buffer: Buffer): void {
    const count = holders.get(buffer) ?? 0;
    if (count > 1) return void holders.set(buffer, count - 1);
    if (holders.delete(buffer)) all -= buffer.length;
  }

  return {
    hold,
    release,
    /** Whether a stream with so many unsent bytes has to be closed. */
    isTooMuch: (streamBytes: number) => all > bytesMax && streamBytes > streamBytesMax,
    total: () => all,
  };
}

// Time-ordered ids: UUIDv7 as 32 hex digits. Node's own generator is random within a millisecond; ours
// counts, so that ids made by one process sort by time, which also keeps database pages full.
import { randomBytes } from 'node:crypto';

const counterBits = 12;
const counterMax = 2 ** counterBits - 1;
const poolBytes = 4096;
const randomBytesPerId = 8;

/** Returns a function that makes ids which only ever grow, even when the clock steps back. */
export function createIds(now: () => number = Date.now): () => string {
  let lastMs = 0;
  let counter = 0;
  let pool = randomBytes(poolBytes);
  let used = 0;

  return () => {
    const ms = now();
    if (used + randomBytesPerId > poolBytes) {
      pool = randomBytes(poolBytes);
      used = 0;
    }
    if (ms > lastMs) {
      lastMs = ms;
      // Half of the counter's range is left for ids of the same millisecond.
      counter = pool.readUInt16BE(used) & (counterMax >> 1);
    } else if (counter < counterMax) {
      counter += 1;
    } else {
      lastMs += 1;
      counter = 0;
    }
    const high = pool.readUInt32BE(used);
    const low = pool.readUInt32BE(used + 4);
    used += randomBytesPerId;
    return (
      lastMs.toString(16).padStart(12, '0') +
      (0x7000 | counter).toString(16) +
      (((high & 0x3fffffff) | 0x80000000) >>> 0).toString(16) +
      low.toString(16).padStart(8, '0')
    );
  };
}

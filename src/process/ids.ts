// Time-ordered ids: UUIDv7 as 32 hex digits. Node's own generator is random within a millisecond; ours
// counts, so that ids made by one process sort by time, which also keeps database pages full.
import { randomBytes } from 'node:crypto';

const counterMax = 0xfff;
const randomDigits = 16;
const poolDigits = 512 * randomDigits;
/** The digits that mark the variant of a UUID; each stands for two random bits. */
const variants = '89ab';

/** Returns a function that creates increasing ids, even if the clock is set back. */
export function createIds(now: () => number = Date.now): () => string {
  let lastMs = -1;
  let time = '';
  let counter = 0;
  let pool = '';
  let used = poolDigits;

  function moveTo(ms: number, count: number): void {
    lastMs = ms;
    time = `${ms.toString(16).padStart(12, '0')}7`;
    counter = count;
  }

  function takeRandom(): string {
    if (used >= poolDigits) {
      pool = randomBytes(poolDigits / 2).toString('hex');
      used = 0;
    }
    used += randomDigits;
    return pool.slice(used - randomDigits, used);
  }

  return () => {
    const ms = now();
    const random = takeRandom();
    // Half of the counter's range is left for ids of the same millisecond.
    if (ms > lastMs) moveTo(ms, Number.parseInt(takeRandom().slice(0, 3), 16) >> 1);
    else if (counter < counterMax) counter += 1;
    else moveTo(lastMs + 1, 0);
    const variant = variants.charAt(random.charCodeAt(0) & 3);
    return time + counter.toString(16).padStart(3, '0') + variant + random.slice(1);
  };
}

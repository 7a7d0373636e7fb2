// Limits what is sent in one turn of the event loop. A write to a socket with room is a copy that the main thread makes,
// so thousands of readers would otherwise keep every other request waiting.
import { kib, mib } from '../validation/schema.ts';

const turnBytesMax = mib;
/** What a write costs besides its bytes. */
const writeBytes = 2 * kib;

export type Pace = ReturnType<typeof createPace>;

export function createPace(bytesMax = turnBytesMax) {
  /** In the order of their calls, so that nobody waits forever. */
  const waiting: { readonly bytes: number; readonly go: () => void }[] = [];
  let left = bytesMax;
  let isRefilling = false;

  function spend(bytes: number): void {
    left -= bytes;
    if (isRefilling) return;
    isRefilling = true;
    setImmediate(refill);
  }

  function refill(): void {
    isRefilling = false;
    left = bytesMax;
    let released = 0;
    for (; released < waiting.length && left > 0; released++) {
      const next = waiting[released];
      spend(next?.bytes ?? 0);
      next?.go();
    }
    waiting.splice(0, released);
  }

  return {
    /** Takes room for one write. Undefined if there is room in this turn; otherwise wait for the promise. */
    take: (bytes: number): Promise<void> | undefined => {
      const cost = bytes + writeBytes;
      if (left > 0 && waiting.length === 0) return void spend(cost);
      return new Promise((go) => {
        waiting.push({ bytes: cost, go });
      });
    },
    /** Counts what turned out to be larger than the room that was taken. */
    spend,
  };
}

// How fast the answers of a run are read: one provider that floods must not keep the process from everybody else.
import type { GatewayBounds } from './bounds.ts';

/** What was not used in so much time may be used at once: answers that are no flood are never slowed down. */
const savedMs = 250;

/** The CPU time of this thread so far. Time in which the process is stopped, or waits for a core, is nobody's work. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export interface Pace {
  /** After a piece that it took so much CPU time to deal with: the milliseconds until the next one may be read. */
  take(bytes: number, busyMs: number): number;
}

export function createPace(
  { bytesPerSecondMax, busyShareMax }: Pick<GatewayBounds, 'bytesPerSecondMax' | 'busyShareMax'>,
  now: () => number = () => performance.now(),
): Pace {
  let freeAt = Number.NEGATIVE_INFINITY;
  return {
    take: (bytes, busyMs) => {
      const at = now();
      const ms = Math.max((1_000 * bytes) / bytesPerSecondMax, busyMs / busyShareMax);
      freeAt = Math.max(freeAt, at - savedMs) + ms;
      return Math.max(0, freeAt - at);
    },
  };
}

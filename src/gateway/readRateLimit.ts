// Limits how fast the answers of a run are read, so that a provider that floods one run does not block the others.
import type { GatewayBounds } from './bounds.ts';

/** Unused time of this length may be used at once, so that normal answers are never slowed down. */
const savedMs = 250;

/** The CPU time of this thread so far. It excludes time in which the process is stopped or waits for a core. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export interface ReadRateLimit {
  /** Counts a piece and the CPU time that it took. Returns the milliseconds until the next one may be read. */
  take(bytes: number, busyMs: number): number;
}

export function createReadRateLimit(
  { bytesPerSecondMax, busyShareMax }: Pick<GatewayBounds, 'bytesPerSecondMax' | 'busyShareMax'>,
  now: () => number = () => performance.now(),
): ReadRateLimit {
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

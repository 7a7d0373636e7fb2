// The time and the timers of a process, as one dependency: tests pass a clock of their own and move it.
import { setTimeout as sleep } from 'node:timers/promises';

export interface Timer {
  stop(): void;
}

export interface Clock {
  /** Wall-clock time, in milliseconds since 1970. It can be set to any value while the process runs. */
  now(): number;
  /** Milliseconds from a clock that only moves forward. */
  steady(): number;
  /** Calls `work` once. The timer alone does not keep the process alive. */
  after(ms: number, work: () => void): Timer;
  /** Calls `work` again and again. The timer alone does not keep the process alive. */
  every(ms: number, work: () => void): Timer;
  /** Settles after `ms`, or as soon as the signal is aborted; it never rejects. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  steady: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return { stop: () => clearTimeout(timer) };
  },
  every: (ms, work) => {
    const timer = setInterval(work, ms).unref();
    return { stop: () => clearInterval(timer) };
  },
  pause: (ms, signal) => sleep(ms, undefined, signal && { signal }).catch(() => {}),
};

/** The wall-clock time as text for the log. */
export function timestamp(clock: Pick<Clock, 'now'>): string {
  return new Date(clock.now()).toISOString();
}

// A clock that stands still until a test moves it.
import type { Clock, Timer } from '../../src/process/clock.ts';

interface Due {
  at: number;
  readonly everyMs?: number;
  readonly work: () => void;
}

export interface ManualClock extends Clock {
  /** Moves both clocks forward and calls what became due on the way, in order. */
  advance(ms: number): void;
  /** Sets the wall clock alone, as an operator or NTP does. */
  setWall(ms: number): void;
  /** Timers that have not been stopped. */
  timers(): number;
}

export function createManualClock(wallMs = Date.UTC(2026, 0, 31)): ManualClock {
  let steadyMs = 0;
  let offsetMs = wallMs;
  const dues = new Set<Due>();

  function add(due: Due): Timer {
    dues.add(due);
    return { stop: () => void dues.delete(due) };
  }

  function nextDue(until: number): Due | undefined {
    return [...dues].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
  }

  return {
    now: () => offsetMs + steadyMs,
    steady: () => steadyMs,
    after: (ms, work) => add({ at: steadyMs + ms, work }),
    every: (ms, work) => add({ at: steadyMs + ms, everyMs: ms, work }),
    pause: (ms, signal) =>
      new Promise((resolve) => {
        const timer = add({ at: steadyMs + ms, work: () => resolve() });
        const abort = () => {
          timer.stop();
          resolve();
        };
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort, { once: true });
      }),
    advance: (ms) => {
      const until = steadyMs + ms;
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        steadyMs = Math.max(steadyMs, due.at);
        if (due.everyMs === undefined) dues.delete(due);
        else due.at += due.everyMs;
        due.work();
      }
      steadyMs = until;
    },
    setWall: (ms) => {
      offsetMs = ms - steadyMs;
    },
    timers: () => dues.size,
  };
}

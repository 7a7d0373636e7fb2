// The clock of a simulated process. Timers are a little late, as real ones are, and wait while the process is paused.
import type { Clock, Timer } from '../../src/process/clock.ts';
import type { Actor, World } from './world.ts';

const latenessMsMax = 5;

interface ClockOptions {
  /** How far the wall clock of the process differs from the database's. */
  readonly skewMs: number;
}

export function createSimClock(world: World, actor: Actor, { skewMs }: ClockOptions): Clock {
  const bootedAt = world.now();
  const random = world.random.fork(`${actor.name} timers`);
  const late = () => random.between(0, latenessMsMax);

  function after(ms: number, work: () => void): Timer {
    const due = world.after(ms + late(), actor, work);
    return { stop: due.cancel };
  }

  return {
    now: () => world.now() + skewMs,
    steady: () => world.now() - bootedAt,
    after,
    every: (ms, work) => {
      let timer = after(ms, fire);
      let isStopped = false;
      function fire(): void {
        timer = after(ms, fire);
        work();
        if (isStopped) timer.stop();
      }
      return {
        stop: () => {
          isStopped = true;
          timer.stop();
        },
      };
    },
    pause: (ms, signal) =>
      new Promise((resolve) => {
        const timer = after(ms, resolve);
        const abort = () => {
          timer.stop();
          resolve();
        };
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort, { once: true });
      }),
  };
}

// Repeats work, one at a time. A failure is reported once, and again only after a success.
import { type Clock, systemClock } from './clock.ts';

type Report = (error: Error) => void;

/** Runs the work on request. A request while it runs gets the same run. */
export function repeatable(work: () => Promise<void>, report: Report) {
  let running: Promise<void> | undefined;
  let failing = false;

  function well(): void {
    failing = false;
  }

  function failed(error: Error): void {
    if (!failing) report(error);
    failing = true;
  }

  return {
    run: (): Promise<void> => {
      running ??= work()
        .then(well, failed)
        .finally(() => (running = undefined));
      return running;
    },
    ended: async (): Promise<void> => running,
  };
}

/** Runs the work on a timer until it is stopped. */
export function repeat(
  work: () => Promise<void>,
  everyMs: number,
  report: Report,
  clock: Pick<Clock, 'every'> = systemClock,
) {
  const { run, ended } = repeatable(work, report);
  const timer = clock.every(everyMs, () => void run());
  return {
    run,
    stop: (): Promise<void> => {
      timer.stop();
      return ended();
    },
  };
}

/** Runs the work when woken. A wake-up while it runs causes another run right after. */
export function wakeable(work: () => Promise<void>, report: Report) {
  const { run, ended } = repeatable(work, report);
  let busy = false;
  let again = false;

  function wake(): void {
    again = busy;
    if (busy) return;
    busy = true;
    void run().finally(() => {
      busy = false;
      if (again) wake();
    });
  }

  return { wake, ended };
}

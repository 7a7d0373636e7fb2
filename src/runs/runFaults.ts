// Catches errors in timers, listeners and unawaited promises of a run. The first one ends the run; none ends the
// process.

export interface RunFaults {
  /** Runs the work at once. If it throws or rejects, the run ends. */
  watch(work: () => unknown): void;
  /** Rejects with the first error. */
  readonly first: Promise<never>;
}

export function createRunFaults(): RunFaults {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {
    // The run awaits `first` later, so the rejection is not unhandled.
  });
  return {
    watch: (work) => {
      new Promise((resolve) => resolve(work())).catch(reject);
    },
    first: promise,
  };
}

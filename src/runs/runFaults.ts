// Errors in the timers, listeners and promises of a run that nobody awaits: the first one ends the run, and none of
// them ends the process.

export interface RunFaults {
  /** Does the work now. What it throws, or what its promise rejects with, ends the run. */
  watch(work: () => unknown): void;
  /** Rejects with the first of them. */
  readonly first: Promise<never>;
}

export function createRunFaults(): RunFaults {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {
    // The run hears of it where it waits.
  });
  return {
    watch: (work) => {
      new Promise((resolve) => resolve(work())).catch(reject);
    },
    first: promise,
  };
}

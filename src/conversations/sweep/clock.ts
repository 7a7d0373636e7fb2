// Detects jumps of the database's clock by comparing it with a monotonic clock. After a jump, stored times cannot be
// trusted for a while.

/** Smaller changes are normal clock adjustments. */
const stepMs = 1_000;

/** A reading of the database's clock, with the monotonic times before and after it. */
export interface ClockReading {
  readonly wall: number;
  readonly before: number;
  readonly after: number;
}

export interface ClockWatch {
  /** Whether the clock has jumped since the last reading, by more than the readings themselves can explain. */
  see(reading: ClockReading): boolean;
  /** How long the clock has been watched without a jump. */
  steadyForMs(): number;
}

export function createClockWatch(steady: () => number): ClockWatch {
  let last: { readonly least: number; readonly most: number } | undefined;
  let since = steady();
  return {
    see: ({ wall, before, after }) => {
      const offset = { least: wall - after, most: wall - before };
      const isSet =
        last !== undefined && (offset.least > last.most + stepMs || offset.most < last.least - stepMs);
      last = offset;
      if (isSet) since = steady();
      return isSet;
    },
    steadyForMs: () => steady() - since,
  };
}

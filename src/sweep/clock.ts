// Notices that the clock of the database was set: it is compared with one that nobody sets. Stored times mean nothing
// for a while then.

/** Less than this is how clocks are adjusted all the time. */
const stepMs = 1_000;

/** A reading of the database's clock, and when it was asked for and came, by the steady clock. */
export interface ClockReading {
  readonly wall: number;
  readonly before: number;
  readonly after: number;
}

export interface ClockWatch {
  /** Whether the clock was set since the last reading, by more than the time that the readings took. */
  see(reading: ClockReading): boolean;
  /** For how long it has been watched without being set. */
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

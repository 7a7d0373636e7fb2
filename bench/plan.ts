// How long and how large each measurement is: in full, and as a quick pass that shows that everything works.

export interface Plan {
  readonly connections: readonly number[];
  /** Turns of each server; the figure is their median. */
  readonly rounds: number;
  readonly roundMs: number;
  /** Before the first round of a server, which is not counted. */
  readonly warmupMs: number;
  /** At the start of each round, which is not counted either. */
  readonly settleMs: number;
  /** Creations that wait for the store at the same time. */
  readonly inFlight: number;
  readonly starts: number;
  readonly flatness: {
    readonly small: number;
    readonly large: number;
    readonly rounds: number;
    readonly creations: number;
    readonly lookups: number;
  };
}

export const fullPlan: Plan = {
  connections: [1, 64, 256],
  rounds: 10,
  roundMs: 1_000,
  warmupMs: 1_000,
  settleMs: 100,
  inFlight: 256,
  starts: 5,
  flatness: { small: 1_000, large: 1_000_000, rounds: 7, creations: 1_000, lookups: 5_000 },
};

export const quickPlan: Plan = {
  connections: [64],
  rounds: 2,
  roundMs: 300,
  warmupMs: 300,
  settleMs: 50,
  inFlight: 256,
  starts: 2,
  flatness: { small: 1_000, large: 10_000, rounds: 3, creations: 500, lookups: 1_000 },
};

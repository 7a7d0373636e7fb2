// What goes wrong in a simulation: the seed decides which faults there are, and how often.
import type { Random } from '../chaos/random.ts';
import { type AgentFaults, goodAgents } from './agents.ts';
import { goodNetwork, type NetworkFaults } from './network.ts';
import { type DatabaseFaults, noFaults } from './simDatabase.ts';

/** How often processes are interrupted, as a mean time between two of a kind; undefined means never. */
export interface ProcessFaults {
  readonly killEveryMs: number | undefined;
  readonly pauseEveryMs: number | undefined;
  readonly stopEveryMs: number | undefined;
  /** The probability that a process is paused or killed between a commit and its answer. */
  readonly pauseAfterCommit: number;
  readonly killAfterCommit: number;
}

export interface Faults {
  readonly database: DatabaseFaults;
  readonly agents: AgentFaults;
  readonly network: NetworkFaults;
  readonly processes: ProcessFaults;
}

export const noTrouble: Faults = {
  database: noFaults,
  agents: goodAgents,
  network: goodNetwork,
  processes: {
    killEveryMs: undefined,
    pauseEveryMs: undefined,
    stopEveryMs: undefined,
    pauseAfterCommit: 0,
    killAfterCommit: 0,
  },
};

/** Every kind of fault is absent in some seeds, so that others are seen alone. */
export function chooseFaults(random: Random): Faults {
  const sometimes = (probability: number) => (random.chance(0.5) ? probability : 0);
  const every = (least: number, most: number) =>
    random.chance(0.5) ? random.between(least, most) : undefined;
  return {
    database: {
      slow: sometimes(0.02),
      refused: sometimes(0.03),
      unknown: sometimes(0.04),
      missedNotification: sometimes(0.3),
    },
    agents: {
      openFails: sometimes(0.05),
      openHangs: sometimes(0.1),
      openCrawls: sometimes(0.1),
      turnHangs: sometimes(0.1),
      agentDies: sometimes(0.1),
      turnRefused: sometimes(0.1),
      ignoresCancel: sometimes(0.5),
      homeLost: sometimes(0.05),
      uncaught: sometimes(0.1),
    },
    network: { lostRequest: sometimes(0.1), lostAnswer: sometimes(0.2), doubled: sometimes(0.2) },
    processes: {
      killEveryMs: every(4_000, 20_000),
      pauseEveryMs: every(2_000, 8_000),
      stopEveryMs: every(6_000, 25_000),
      pauseAfterCommit: sometimes(0.02),
      killAfterCommit: sometimes(0.005),
    },
  };
}

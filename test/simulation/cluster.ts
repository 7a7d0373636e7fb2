// The processes of one simulation, and what happens to them: they are killed, paused, stopped and started again.

import type { ProcessFaults } from './faults.ts';
import type { SimProcess } from './processes.ts';
import type { Actor, World } from './world.ts';

const downMsMax = 4_000;
/** Longer than a lease, or only long enough to be late. */
const pauseMs = { short: [500, 4_000], long: [5_000, 12_000] } as const;

/** Interruptions that come at any time. */
type Regular = 'killEveryMs' | 'pauseEveryMs' | 'stopEveryMs';

interface ClusterOptions {
  readonly world: World;
  readonly count: number;
  /** Starts the process with this number. `starts` is how often that happened before. */
  readonly start: (number: number, starts: number) => SimProcess;
  readonly faults: () => ProcessFaults;
  /** No pause is longer. */
  readonly until: number;
}

export interface Cluster {
  /** Called after each commit of a process. */
  onCommit(actor: Actor): void;
  processes(): readonly SimProcess[];
  /** Ends all interruptions: everything that is down comes up. */
  heal(): void;
}

export function createCluster({ world, count, start, faults, until }: ClusterOptions): Cluster {
  const random = world.random.fork('cluster');
  const starts = Array.from({ length: count }, () => 0);
  const processes = Array.from({ length: count }, (_, number) => start(number, 0));
  let isHealed = false;

  function startAgain(number: number): void {
    if (processes[number]?.actor.isAlive) return;
    starts[number] = (starts[number] ?? 0) + 1;
    const started = start(number, starts[number]);
    processes[number] = started;
    world.note(() => `${started.actor.name} starts`);
  }

  const interruptions: Readonly<Record<Regular, (process: SimProcess, number: number) => void>> = {
    killEveryMs: (process, number) => {
      world.note(() => `${process.actor.name} is killed`);
      process.kill();
      world.after(random.between(50, downMsMax), undefined, () => startAgain(number));
    },
    pauseEveryMs: ({ actor }) => {
      const [least, most] = random.chance(0.6) ? pauseMs.long : pauseMs.short;
      const ms = Math.min(random.between(least, most), until - world.now());
      world.note(() => `${actor.name} is paused for ${ms} ms`);
      actor.pausedUntil = world.now() + ms;
    },
    stopEveryMs: (process, number) => {
      world.note(() => `${process.actor.name} is told to stop`);
      void process
        .stop()
        .then(() => world.after(random.between(50, downMsMax), undefined, () => startAgain(number)));
    },
  };

  function interrupt(kind: Regular): void {
    const everyMs = faults()[kind];
    if (everyMs === undefined) return;
    world.after(random.between(1, 2 * everyMs), undefined, () => {
      if (isHealed) return;
      const number = random.between(0, count - 1);
      const process = processes[number];
      if (process?.actor.isAlive) interruptions[kind](process, number);
      interrupt(kind);
    });
  }

  for (const kind of Object.keys(interruptions) as Regular[]) interrupt(kind);
  /** Interrupts a process between a commit and its answer, where it matters most. */
  function onCommit(actor: Actor): void {
    const number = processes.findIndex((one) => one.actor === actor);
    const process = processes[number];
    if (process === undefined || isHealed || !actor.isAlive || actor.pausedUntil > world.now()) return;
    const { pauseAfterCommit, killAfterCommit } = faults();
    if (random.chance(pauseAfterCommit)) interruptions.pauseEveryMs(process, number);
    else if (random.chance(killAfterCommit)) interruptions.killEveryMs(process, number);
  }

  return {
    onCommit,
    processes: () => processes,
    heal: () => {
      isHealed = true;
      for (const number of processes.keys()) startAgain(number);
    },
  };
}

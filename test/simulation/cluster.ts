// The processes of one simulation, and what happens to them: they are killed, paused, stopped and started again.

import type { ProcessFaults } from './faults.ts';
import type { SimProcess } from './processes.ts';
import type { World } from './world.ts';

const downMsMax = 4_000;
/** Longer than a lease, or only long enough to be late. */
const pauseMs = { short: [500, 5_000], long: [6_000, 20_000] } as const;

interface ClusterOptions {
  readonly world: World;
  readonly count: number;
  /** Starts the process with this number. `starts` is how often that happened before. */
  readonly start: (number: number, starts: number) => SimProcess;
  readonly faults: () => ProcessFaults;
}

export interface Cluster {
  processes(): readonly SimProcess[];
  /** Ends all interruptions: everything that is down comes up, and everything that is paused goes on. */
  heal(): void;
}

export function createCluster({ world, count, start, faults }: ClusterOptions): Cluster {
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

  const interruptions: Readonly<Record<keyof ProcessFaults, (process: SimProcess, number: number) => void>> =
    {
      killEveryMs: (process, number) => {
        world.note(() => `${process.actor.name} is killed`);
        process.kill();
        world.after(random.between(50, downMsMax), undefined, () => startAgain(number));
      },
      pauseEveryMs: ({ actor }) => {
        const [least, most] = random.chance(0.6) ? pauseMs.long : pauseMs.short;
        const ms = random.between(least, most);
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

  function interrupt(kind: keyof ProcessFaults): void {
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

  for (const kind of Object.keys(interruptions) as (keyof ProcessFaults)[]) interrupt(kind);
  return {
    processes: () => processes,
    heal: () => {
      isHealed = true;
      for (const [number, { actor }] of processes.entries()) {
        actor.pausedUntil = 0;
        startAgain(number);
      }
    },
  };
}

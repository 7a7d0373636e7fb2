// Everything that is done to the processes and their database, one fault after the other, chosen by the seed.
import { setTimeout as wait } from 'node:timers/promises';
import { withPostgres } from '../support/databases.ts';
import type { Rule } from '../support/postgresProxy.ts';
import type { PostgresServer } from '../support/postgresServer.ts';
import type { Cluster, Member } from './cluster.ts';
import type { Fault } from './history.ts';
import type { Random } from './random.ts';

/** A lease lasts 8 seconds: who sleeps longer has lost its conversations. */
export const pastLeaseMs = { min: 9_000, max: 18_000 };
/** Around the time at which a write is given up. */
const lateMs = { min: 7_000, max: 11_000 };
const hourS = 3_600;

interface Scene {
  readonly cluster: Cluster;
  readonly postgres: PostgresServer | undefined;
  readonly random: Random;
  /** For how long processes are paused. */
  readonly pauseMs: { readonly min: number; readonly max: number };
  /** Waits, but not beyond the end of the faults. */
  pause(ms: number): Promise<void>;
}

interface FaultKind {
  readonly name: string;
  readonly weight: number;
  /** How long it takes at least: it is not begun where less time is left. */
  readonly needsMs: number;
  /** Undefined: it cannot be done here. */
  aim(scene: Scene): { readonly target: string; run(): Promise<void> } | undefined;
}

function ofMember(
  choose: (member: Member) => boolean,
  run: (member: Member, scene: Scene) => Promise<void>,
): FaultKind['aim'] {
  return (scene) => {
    const able = scene.cluster.members.filter(choose);
    if (able.length === 0) return undefined;
    const member = scene.random.pick(able);
    return { target: member.name, run: () => run(member, scene) };
  };
}

const isUp = (member: Member) => member.url() !== undefined;
/** The way of one process to its database, which goes by this rule for a while. */
function ofConnections(
  times: { readonly min: number; readonly max: number },
  createRule: (random: Random) => Rule,
): FaultKind['aim'] {
  return ofMember(
    ({ proxy }) => proxy !== undefined,
    async ({ proxy }, { cluster, random, pause }) => {
      cluster.databaseIsAway(true);
      proxy?.rule(createRule(random));
      await pause(random.between(times.min, times.max));
      proxy?.release();
      cluster.databaseIsAway(false);
    },
  );
}

/** COMMIT reaches the database, so many times, and its answer is lost. */
function loseCommitAnswers(count: number): Rule {
  let left = count;
  return ({ name, text }) => {
    if (name !== 'Query' || left === 0 || !/(^|;)\s*commit\s*$/i.test(text)) return 'pass';
    left -= 1;
    return 'cutAfter';
  };
}

function ofDatabase(run: (server: PostgresServer, scene: Scene) => Promise<void>): FaultKind['aim'] {
  return (scene) => {
    const { postgres, cluster } = scene;
    if (postgres === undefined) return undefined;
    return {
      target: 'postgres',
      run: async () => {
        cluster.databaseIsAway(true);
        try {
          await run(postgres, scene);
        } finally {
          cluster.databaseIsAway(false);
        }
      },
    };
  };
}

/** As its administrator, who may write whatever the default says. */
function administer({ url }: PostgresServer, sql: string): Promise<unknown> {
  const options = encodeURIComponent('-c default_transaction_read_only=off');
  return withPostgres(`${url}/postgres?options=${options}`, (client) => client.query(sql));
}

async function sleep(member: Member, { random, pause, pauseMs }: Scene): Promise<void> {
  member.pause();
  await pause(random.between(pauseMs.min, pauseMs.max));
  member.resume();
}

const processFaults: readonly FaultKind[] = [
  {
    name: 'kill',
    weight: 5,
    needsMs: 0,
    aim: ofMember(isUp, (member) => member.end('SIGKILL')),
  },
  {
    name: 'stop',
    weight: 3,
    needsMs: 0,
    aim: ofMember(isUp, (member) => member.end('SIGTERM')),
  },
  {
    name: 'pause-worker',
    weight: 2,
    needsMs: pastLeaseMs.min,
    aim: ofMember((member) => member.runsConversations && isUp(member), sleep),
  },
  {
    name: 'pause-api',
    weight: 1,
    needsMs: pastLeaseMs.min,
    aim: ofMember((member) => !member.runsConversations && isUp(member), sleep),
  },
  {
    name: 'clock-step',
    weight: 2,
    needsMs: 3_000,
    aim: ofMember(
      ({ clock }) => clock !== undefined,
      async ({ clock }, { random, pause }) => {
        clock?.set(random.pick([-3, -2, -1, 1, 2, 3]) * hourS);
        await pause(random.between(3_000, 6_000));
        clock?.set(0);
      },
    ),
  },
];

const databaseFaults: readonly FaultKind[] = [
  {
    name: 'database-kill',
    weight: 1,
    needsMs: 2_000,
    aim: ofDatabase(async (server, { random, pause }) => {
      await server.kill();
      await pause(random.between(0, 2_000));
      await server.restart();
    }),
  },
  {
    name: 'terminate-sessions',
    weight: 3,
    needsMs: 0,
    aim: ofDatabase(async (server, { random, pause }) => {
      for (let time = random.between(1, 4); time > 0; time--) {
        await administer(
          server,
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'parley'",
        );
        await pause(random.between(0, 300));
      }
    }),
  },
  {
    name: 'read-only',
    weight: 2,
    needsMs: 1_000,
    aim: ofDatabase(async (server, { random, pause }) => {
      const set = async (value: string) => {
        await administer(server, `alter system set default_transaction_read_only = ${value}`);
        await administer(server, 'select pg_reload_conf()');
      };
      await set('on');
      await pause(random.between(500, 3_000));
      await set('off');
    }),
  },
  {
    name: 'unreachable',
    weight: 2,
    needsMs: 1_000,
    aim: ofConnections({ min: 500, max: 4_000 }, () => () => 'cut'),
  },
  {
    name: 'late-packets',
    weight: 2,
    needsMs: lateMs.min,
    aim: ofConnections(lateMs, () => () => 'hold'),
  },
  {
    name: 'lost-commit-answer',
    weight: 4,
    needsMs: 0,
    aim: ofConnections({ min: 300, max: 1_000 }, (random) => loseCommitAnswers(random.between(1, 5))),
  },
];

export const faultNames = [...processFaults, ...databaseFaults].map(({ name }) => name);

export interface FaultOptions extends Omit<Scene, 'pause'> {
  readonly seconds: number;
  readonly now: () => number;
  /** Only these, where they are given. */
  readonly only?: readonly string[] | undefined;
  /** Between two faults of a lane. */
  readonly gapMs?: { readonly min: number; readonly max: number } | undefined;
}

function chooseKind(kinds: readonly FaultKind[], random: Random): FaultKind {
  const whole = kinds.reduce((sum, { weight }) => sum + weight, 0);
  let left = random.next() * whole;
  for (const kind of kinds) {
    left -= kind.weight;
    if (left < 0) return kind;
  }
  throw new Error('there is no fault to choose');
}

/** Does faults until the time is over, processes and database at the same time. All of them are over when it returns. */
export async function injectFaults(options: FaultOptions): Promise<Fault[]> {
  const { seconds, now, only } = options;
  const endMs = now() + seconds * 1_000;
  const done: Fault[] = [];
  const pause = (ms: number) => wait(Math.max(0, Math.min(ms, endMs - now())));

  // One process alone is given more time to do something between two faults.
  const usualGapMs = options.postgres === undefined ? { min: 500, max: 4_000 } : { min: 200, max: 2_000 };
  const gapMs = options.gapMs ?? usualGapMs;

  async function lane(name: string, all: readonly FaultKind[]): Promise<void> {
    const kinds = all.filter((kind) => only === undefined || only.includes(kind.name));
    const random = options.random.fork(name);
    const scene = { ...options, random, pause };
    for (;;) {
      await pause(random.between(gapMs.min, gapMs.max));
      if (now() >= endMs) return;
      const possible = kinds.filter(({ needsMs }) => now() + needsMs < endMs);
      if (possible.length === 0) return;
      const kind = chooseKind(possible, random);
      const aimed = kind.aim(scene);
      if (aimed === undefined) continue;
      const fromMs = now();
      await aimed.run();
      done.push({ name: kind.name, target: aimed.target, fromMs, toMs: now() });
    }
  }

  await Promise.all([
    lane('processes', processFaults),
    ...(options.postgres === undefined ? [] : [lane('database', databaseFaults)]),
  ]);
  return done;
}

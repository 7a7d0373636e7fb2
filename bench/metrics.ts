// Measures what the metrics cost on the hottest requests: the service, a build of it without the work for metrics, and the
// service once more, in turns. Two processes of the same program differ, too: the third one shows by how much.
import type { DatabaseKind } from '../src/db/transaction.ts';
import { createStorage } from '../test/support/databases.ts';
import { type InstrumentTimes, measureInstruments } from './instrumentTimes.ts';
import type { Lifetime } from './lifetime.ts';
import type { Turn } from './load.ts';
import { loadTarget, mediansOf, runLoad } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type Figure, type PartReport, whole } from './report.ts';
import { type Ask, getFull, postConversation } from './requests.ts';
import { builtService, startService } from './service.ts';
import { median } from './statistics.ts';
import { buildUnmetered } from './unmetered.ts';

const costTarget = 1.02;
const connections = 64;
/** Restarts matter more than rounds, because what differs most is one start from the next. */
const startsPerPair = 3;

interface Case {
  readonly name: string;
  /** What its instruments take by themselves. */
  readonly instruments: keyof InstrumentTimes;
  readonly ask: Ask;
  readonly kind: DatabaseKind;
}

const cases: readonly Case[] = [
  { name: 'GET settings', ask: getFull, kind: 'sqlite', instruments: 'fastLaneUs' },
  { name: 'POST conversation, SQLite', ask: postConversation, kind: 'sqlite', instruments: 'requestUs' },
  {
    name: 'POST conversation, PostgreSQL',
    ask: postConversation,
    kind: 'postgres',
    instruments: 'requestUs',
  },
];

/** Starts each program, and returns their turns in the same order. */
async function measureStart(
  lifetime: Lifetime,
  plan: Plan,
  { ask, kind }: Case,
  programs: readonly string[],
) {
  const started = [];
  for (const program of programs) {
    const storage = await createStorage(kind);
    started.push({ storage, service: await startService(lifetime, storage, {}, program) });
  }
  const { roundMs, warmupMs, settleMs } = plan;
  const rounds = Math.ceil(plan.rounds / startsPerPair);
  const targets = started.map(({ service }) => loadTarget(service, [ask]));
  const turns = await runLoad(lifetime, { targets, connections, rounds, roundMs, warmupMs, settleMs });
  for (const { service, storage } of started) {
    await service.stop();
    await storage.remove();
  }
  return turns;
}

interface Measured {
  readonly row: readonly string[];
  readonly figures: readonly Figure[];
}

const cpuRatio = (turns: readonly Turn[], others: readonly Turn[]) =>
  median(turns.map((turn, i) => turn.cpuUs / (others[i]?.cpuUs ?? 0)));

/** Moves so many items from the beginning of the list to its end. */
const rotated = <Item>(list: readonly Item[], by: number) => [...list.slice(by), ...list.slice(0, by)];

async function measureCase(
  lifetime: Lifetime,
  plan: Plan,
  measured: Case,
  unmetered: string,
): Promise<Measured> {
  process.stderr.write(`metrics, ${measured.name} …\n`);
  const programs = [builtService, unmetered, builtService];
  const turns: [Turn[], Turn[], Turn[]] = [[], [], []];
  for (let start = 0; start < plan.pairs * startsPerPair; start++) {
    const by = start % programs.length;
    const found = await measureStart(lifetime, plan, measured, rotated(programs, by));
    for (const [i, list] of rotated(found, programs.length - by).entries()) turns[i]?.push(...list);
  }
  const [ours, without, again] = turns;
  const [metered, bare] = [mediansOf(ours), mediansOf(without)];
  const ratio = cpuRatio(ours, without);
  const alone = measureInstruments()[measured.instruments];
  const share = 1 + alone / bare.cpu;
  const three = decimals(3);
  const figures = [
    atMost(`${measured.name}: CPU time with metrics, as a share of that without`, ratio, costTarget, three),
    atMost(`${measured.name}: a lower bound, from the instruments alone`, share, costTarget, three),
  ];
  const row = [
    measured.name,
    ...[metered, bare].flatMap(({ rate, cpu }) => [whole(rate), decimals(1)(cpu)]),
    three(ratio),
    three(cpuRatio(again, without)),
    three(cpuRatio(ours, again)),
    decimals(2)(alone),
    three(share),
  ];
  return { row, figures };
}

export async function measureMetrics(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const unmetered = await buildUnmetered(lifetime);
  const outcomes: Measured[] = [];
  for (const one of cases) outcomes.push(await measureCase(lifetime, plan, one, unmetered));
  const heads = [
    `request, ${connections} connections`,
    'with metrics, req/s',
    'CPU µs',
    'without, req/s',
    'CPU µs',
    'ratio of CPU',
    'the same again',
    'with, to with again',
    'instruments alone, µs',
    'ratio from that',
  ];
  return {
    tables: [{ title: 'The cost of metrics', heads, rows: outcomes.map(({ row }) => row) }],
    figures: outcomes.flatMap(({ figures }) => figures),
  };
}

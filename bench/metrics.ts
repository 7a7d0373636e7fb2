// Measures what the metrics cost on the hottest requests: the service, and a build of it without the work for metrics, in
// turns. CPU time per request decides, because rates of two processes of the same program differ more than 2 %.
import type { DatabaseKind } from '../src/db/transaction.ts';
import { createStorage } from '../test/support/databases.ts';
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

interface Case {
  readonly name: string;
  readonly ask: Ask;
  readonly kind: DatabaseKind;
}

const cases: readonly Case[] = [
  { name: 'GET settings', ask: getFull, kind: 'sqlite' },
  { name: 'POST conversation, SQLite', ask: postConversation, kind: 'sqlite' },
  { name: 'POST conversation, PostgreSQL', ask: postConversation, kind: 'postgres' },
];

/** Starts both, and measures them in turns. Which one is started first changes from pair to pair. */
async function measurePair(lifetime: Lifetime, plan: Plan, { ask, kind }: Case, programs: readonly string[]) {
  const started = [];
  for (const program of programs) {
    const storage = await createStorage(kind);
    started.push({ storage, service: await startService(lifetime, storage, {}, program) });
  }
  const { rounds, roundMs, warmupMs, settleMs } = plan;
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
  readonly figure: Figure;
}

async function measureCase(
  lifetime: Lifetime,
  plan: Plan,
  measured: Case,
  unmetered: string,
): Promise<Measured> {
  process.stderr.write(`metrics, ${measured.name} …\n`);
  const withMetrics: Turn[] = [];
  const without: Turn[] = [];
  for (let pair = 0; pair < plan.pairs; pair++) {
    const isReversed = pair % 2 === 1;
    const programs = [builtService, unmetered];
    const turns = await measurePair(lifetime, plan, measured, isReversed ? programs.toReversed() : programs);
    const [ours = [], bares = []] = isReversed ? turns.toReversed() : turns;
    withMetrics.push(...ours);
    without.push(...bares);
  }
  const [ours, bares] = [mediansOf(withMetrics), mediansOf(without)];
  const ratio = median(withMetrics.map((turn, i) => turn.cpuUs / (without[i]?.cpuUs ?? 0)));
  const rates = median(withMetrics.map((turn, i) => turn.requestsPerS / (without[i]?.requestsPerS ?? 0)));
  const name = `${measured.name}: CPU time with metrics, as a share of that without`;
  const figure = atMost(name, ratio, costTarget, decimals(3));
  const [one, three] = [decimals(1), decimals(3)];
  const row = [
    measured.name,
    ...[ours, bares].flatMap(({ rate, cpu }) => [whole(rate), one(cpu)]),
    three(rates),
    three(ratio),
    figure.target,
    figure.verdict,
  ];
  return { row, figure };
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
    'ratio of rates',
    'ratio of CPU',
    'target',
    'verdict',
  ];
  return {
    tables: [{ title: 'The cost of metrics', heads, rows: outcomes.map(({ row }) => row) }],
    figures: outcomes.map(({ figure }) => figure),
  };
}

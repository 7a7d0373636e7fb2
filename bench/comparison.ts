// Compares a request to the service with the same request to a bare server, in turns.
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { DatabaseKind } from '../src/db/transaction.ts';
import { createStorage } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Turn } from './load.ts';
import { loadTarget, mediansOf, runLoad } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { type Program, startProgram } from './program.ts';
import { atLeast, decimals, type Figure, type PartReport, whole } from './report.ts';
import { type Answer, type Ask, sendOnce } from './requests.ts';
import { startService } from './service.ts';
import { median, spread } from './statistics.ts';

const bareFile = fileURLToPath(new URL('./bareServer.ts', import.meta.url));
/** Headers that differ from response to response. */
const ownToEach = ['x-request-id'];

export interface Case {
  readonly name: string;
  readonly ask: Ask;
  readonly kind: DatabaseKind;
  readonly connections: number;
  /** Overrides the environment of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** The required share of the rate of the bare server. */
  readonly target: number | undefined;
}

interface Outcome {
  readonly row: readonly string[];
  readonly figure: Figure | undefined;
}

const heads = [
  'request',
  'connections',
  'service, req/s',
  'p50 ms',
  'p99 ms',
  'CPU µs',
  'bare, req/s',
  'p50 ms',
  'p99 ms',
  'CPU µs',
  'ratio',
  'ratios of the rounds',
  'target',
  'verdict',
];

function withoutOwn({ headers, ...rest }: Answer): unknown {
  const kept = Object.entries(headers).filter(([name]) => !ownToEach.includes(name.toLowerCase()));
  return { ...rest, headers: Object.fromEntries(kept) };
}

async function startBare(lifetime: Lifetime, ask: Ask, answer: Answer): Promise<Program> {
  const bare = await startProgram(lifetime, [bareFile, JSON.stringify(answer)], process.env);
  if (!isDeepStrictEqual(withoutOwn(await sendOnce(bare.url, ask)), withoutOwn(answer)))
    throw new Error('the bare server answers other bytes than the service');
  return bare;
}

function summarise(measured: Case, ours: readonly Turn[], bares: readonly Turn[]): Outcome {
  const [service, bare] = [mediansOf(ours), mediansOf(bares)];
  const ratios = ours.map((turn, i) => turn.requestsPerS / (bares[i]?.requestsPerS ?? 0));
  const ratio = median(ratios);
  const two = decimals(2);
  const name = `${measured.name}, connections ${measured.connections}: share of bare`;
  const figure = measured.target === undefined ? undefined : atLeast(name, ratio, measured.target, two);
  const times = (of: typeof service) => [whole(of.rate), two(of.p50), two(of.p99), decimals(1)(of.cpu)];
  const row = [
    measured.name,
    String(measured.connections),
    ...times(service),
    ...times(bare),
    two(ratio),
    spread(ratios, two),
    figure?.target ?? '–',
    figure?.verdict ?? '–',
  ];
  return { row, figure };
}

/** Measures the service and a bare server in turns, both newly started. */
async function measurePair(lifetime: Lifetime, plan: Plan, { ask, kind, connections, env }: Case) {
  const storage = await createStorage(kind);
  const service = await startService(lifetime, storage, env);
  const bare = await startBare(lifetime, ask, await sendOnce(service.url, ask));
  const { rounds, roundMs, warmupMs, settleMs } = plan;
  const targets = [loadTarget(service, [ask]), loadTarget(bare, [ask])];
  const load = { targets, connections, rounds, roundMs, warmupMs, settleMs };
  const [ours = [], bares = []] = await runLoad(lifetime, load);
  await bare.stop();
  await service.stop();
  await storage.remove();
  return { ours, bares };
}

async function measure(lifetime: Lifetime, plan: Plan, measured: Case): Promise<Outcome> {
  process.stderr.write(`${measured.name}, connections ${measured.connections} …\n`);
  const ours: Turn[] = [];
  const bares: Turn[] = [];
  for (let pair = 0; pair < plan.pairs; pair++) {
    const turns = await measurePair(lifetime, plan, measured);
    ours.push(...turns.ours);
    bares.push(...turns.bares);
  }
  return summarise(measured, ours, bares);
}

/** Measures the cases one after the other, each with its own servers and database. */
export async function compareAll(
  lifetime: Lifetime,
  plan: Plan,
  title: string,
  cases: readonly Case[],
): Promise<PartReport> {
  const outcomes: Outcome[] = [];
  for (const measured of cases) outcomes.push(await measure(lifetime, plan, measured));
  return {
    tables: [{ title, heads, rows: outcomes.map(({ row }) => row) }],
    figures: outcomes.flatMap(({ figure }) => figure ?? []),
  };
}

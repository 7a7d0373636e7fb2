// Measures how fast the settings of one user can be written: by one writer, by many at once, and through two processes.
import type { DatabaseKind } from '../src/db/transaction.ts';
import { createStorage, databaseKinds } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atLeast, decimals, type PartReport, whole } from './report.ts';
import { sessionKey } from './requests.ts';
import { startService } from './service.ts';
import { median, percentile } from './statistics.ts';
import { databaseNames } from './store.ts';

/** Many writers together must not be slower than one. */
const ratioTarget = 1;
const secretKey = '07'.repeat(32);

interface Load {
  readonly name: string;
  readonly writers: number;
  readonly processes: number;
  readonly rates: number[];
  readonly latencies: number[];
}

const createLoads = (kind: DatabaseKind): readonly Load[] => [
  { name: '1 writer', writers: 1, processes: 1, rates: [], latencies: [] },
  { name: '24 writers', writers: 24, processes: 1, rates: [], latencies: [] },
  // A SQLite database is used by one process only.
  ...(kind === 'sqlite'
    ? []
    : [{ name: '24 writers, two processes', writers: 24, processes: 2, rates: [], latencies: [] }]),
];

async function write(url: string, value: string): Promise<void> {
  const { ok, status } = await fetch(`${url}/api/settings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-api-key': sessionKey },
    body: JSON.stringify({ llm_model: value }),
  });
  if (!ok) throw new Error(`a write was answered ${status}`);
}

async function writeFor(urls: readonly string[], ms: number, load: Load): Promise<void> {
  const { writers, processes, rates, latencies } = load;
  const begin = performance.now();
  let written = 0;
  async function writeOn(writer: number): Promise<void> {
    for (let turn = 0; performance.now() < begin + ms; turn++) {
      const sentAt = performance.now();
      await write(urls[writer % processes] ?? '', `model-${writer}-${turn}`);
      latencies.push(performance.now() - sentAt);
      written += 1;
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => writeOn(writer)));
  rates.push((written / (performance.now() - begin)) * 1_000);
}

async function measureKind(lifetime: Lifetime, kind: DatabaseKind, plan: Plan): Promise<readonly Load[]> {
  const { rounds, roundMs, warmupMs } = plan;
  const storage = await createStorage(kind);
  const loads = createLoads(kind);
  const services = [];
  for (let i = 0; i < Math.max(...loads.map(({ processes }) => processes)); i++)
    services.push(await startService(lifetime, storage, { PARLEY_SECRET_KEY: secretKey }));
  const urls = services.map(({ url }) => url);
  for (const load of loads) await writeFor(urls, warmupMs, { ...load, rates: [], latencies: [] });
  for (let round = 0; round < rounds; round++) for (const load of loads) await writeFor(urls, roundMs, load);
  for (const service of services) await service.stop();
  await storage.remove();
  return loads;
}

export async function measureSettingsWrites(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  process.stderr.write('writes to the settings of one user …\n');
  const rows: string[][] = [];
  const figures = [];
  for (const kind of databaseKinds) {
    const loads = await measureKind(lifetime, kind, plan);
    const rateOf = (storage: number) => median(loads[storage]?.rates ?? []);
    for (const { name, rates, latencies } of loads) {
      const p99 = percentile(
        latencies.toSorted((a, b) => a - b),
        0.99,
      );
      const ratio = median(rates) / rateOf(0);
      rows.push([databaseNames[kind], name, whole(median(rates)), decimals(2)(ratio), decimals(1)(p99)]);
    }
    const name = `Settings writes/s of one user, 24 writers to one, ${databaseNames[kind]}`;
    figures.push(atLeast(name, rateOf(1) / rateOf(0), ratioTarget, decimals(2)));
  }
  const heads = ['database', 'load', 'writes/s', 'to one writer', 'p99, ms'];
  return { tables: [{ title: 'Writes to the settings of one user', heads, rows }], figures };
}

// Writes to the settings of one user, from one writer and from many at once, in one process and in two.
import { openConfiguredDatabase } from '../src/database.ts';
import type { DatabaseKind } from '../src/db/transaction.ts';
import { openVault } from '../src/secrets/vault.ts';
import { createSettings, type Settings } from '../src/settings/service.ts';
import { ensureUser } from '../src/users/store.ts';
import { createPlace, databaseKinds } from '../test/support/databases.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atLeast, decimals, type PartReport, whole } from './report.ts';
import { median, percentile } from './statistics.ts';
import { databaseNames, fail } from './store.ts';

/** Of the many, compared with one writer. */
const ratioTarget = 1;
const secretKey = Buffer.alloc(32, 7);

interface Load {
  readonly name: string;
  readonly writers: number;
  /** Each with connections of its own, as processes have. */
  readonly processes: number;
  readonly rates: number[];
  readonly latencies: number[];
}

const createLoads = (kind: DatabaseKind): readonly Load[] => [
  { name: '1 writer', writers: 1, processes: 1, rates: [], latencies: [] },
  { name: '24 writers', writers: 24, processes: 1, rates: [], latencies: [] },
  // SQLite has one process.
  ...(kind === 'sqlite'
    ? []
    : [{ name: '24 writers, two processes', writers: 24, processes: 2, rates: [], latencies: [] }]),
];

async function writeFor(
  rooms: readonly Settings[],
  userId: number,
  ms: number,
  { writers, processes, rates, latencies }: Load,
): Promise<void> {
  const begin = performance.now();
  let written = 0;
  async function writeOn(writer: number): Promise<void> {
    const settings = rooms[writer % processes] as Settings;
    for (let turn = 0; performance.now() < begin + ms; turn++) {
      const sentAt = performance.now();
      await settings.update({ userId, keyId: 'bench' }, 'patch', { llm_model: `model-${writer}-${turn}` });
      latencies.push(performance.now() - sentAt);
      written += 1;
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => writeOn(writer)));
  rates.push((written / (performance.now() - begin)) * 1_000);
}

async function measureKind(kind: DatabaseKind, { rounds, roundMs, warmupMs }: Plan) {
  const place = await createPlace(kind);
  const loads = createLoads(kind);
  const databases = [];
  const rooms: Settings[] = [];
  for (let i = 0; i < Math.max(...loads.map(({ processes }) => processes)); i++) {
    const database = await openConfiguredDatabase(place, fail);
    const vault = await openVault({ database, dataDir: place.dataDir, secretKeys: [secretKey] });
    databases.push(database);
    rooms.push(createSettings({ database, vault }));
  }
  const user = await databases[0]?.run(ensureUser, 'bench');
  const userId = user?.id ?? 0;
  for (const load of loads) await writeFor(rooms, userId, warmupMs, { ...load, rates: [], latencies: [] });
  for (let round = 0; round < rounds; round++)
    for (const load of loads) await writeFor(rooms, userId, roundMs, load);
  for (const database of databases) await database.close();
  await place.remove();
  return loads;
}

export async function measureSettingsWrites(_lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  process.stderr.write('writes to the settings of one user …\n');
  const rows: string[][] = [];
  const figures = [];
  for (const kind of databaseKinds) {
    const loads = await measureKind(kind, plan);
    const rateOf = (place: number) => median(loads[place]?.rates ?? []);
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

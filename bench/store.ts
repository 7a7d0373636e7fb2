// Measures creations per second in the store alone, without HTTP, on both databases in turns.
import { openConfiguredDatabase } from '../src/database.ts';
import type { Database, DatabaseKind } from '../src/db/transaction.ts';
import { createStorage, databaseKinds } from '../test/support/databases.ts';
import { createMakers, createMany, type Make } from './creations.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atLeast, type PartReport, whole } from './report.ts';
import { median, spread } from './statistics.ts';

const sqliteTarget = 20_000;
export const databaseNames: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'SQLite',
  postgres: 'PostgreSQL',
};

interface Store {
  readonly kind: DatabaseKind;
  readonly database: Database;
  readonly make: Make;
  readonly rates: number[];
  remove(): Promise<void>;
}

export function fail(error: Error): void {
  throw error;
}

async function openStore(kind: DatabaseKind): Promise<Store> {
  const storage = await createStorage(kind);
  const database = await openConfiguredDatabase(storage, fail);
  const { timeOrdered } = await createMakers(database);
  const remove = async () => {
    await database.close();
    await storage.remove();
  };
  return { kind, database, make: timeOrdered, rates: [], remove };
}

function createFor({ database, make }: Store, inFlight: number, ms: number): Promise<number> {
  const end = performance.now() + ms;
  return createMany(database, make, { inFlight, more: () => performance.now() < end });
}

export async function measureStore(_lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { inFlight, rounds, roundMs, warmupMs } = plan;
  process.stderr.write(`store alone, ${inFlight} in flight …\n`);
  const stores: Store[] = [];
  for (const kind of databaseKinds) stores.push(await openStore(kind));
  for (const store of stores) await createFor(store, inFlight, warmupMs);
  for (let round = 0; round < rounds; round++)
    for (const store of stores) store.rates.push(await createFor(store, inFlight, roundMs));
  for (const store of stores) await store.remove();

  const figures = stores
    .filter(({ kind }) => kind === 'sqlite')
    .map(({ rates }) => atLeast('Creations/s at the store, SQLite', median(rates), sqliteTarget, whole));
  const rows = stores.map(({ kind, rates }) => {
    const figure = kind === 'sqlite' ? figures[0] : undefined;
    const verdict = [figure?.target ?? '–', figure?.verdict ?? '–'];
    return [databaseNames[kind], whole(median(rates)), spread(rates, whole), ...verdict];
  });
  const heads = ['database', 'creations/s', 'rounds', 'target', 'verdict'];
  return { tables: [{ title: `The store alone, ${inFlight} in flight`, heads, rows }], figures };
}

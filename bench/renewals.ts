// Measures what it costs PostgreSQL to renew the leases of many running conversations, which workers do all the time.
import { renewRun } from '../src/conversations/run/store.ts';
import { openConfiguredDatabase } from '../src/database.ts';
import { withPostgres } from '../test/support/databases.ts';
import type { FilledCluster, PostgresMeter } from './clusterLoad.ts';
import { type Table, whole } from './report.ts';
import { fail } from './store.ts';

const leaseMs = 60_000;

/** Makes some conversations look as if they were running. Returns their keys. No service may run that would end them. */
async function startRuns(databaseUrl: string, count: number): Promise<readonly number[]> {
  return withPostgres(databaseUrl, async (client) => {
    const { rows } = await client.query(
      `update conversations set run_id = 'bench', owner = 'bench', status = 'RUNNING', lease_until = 0
       where key in (select key from conversations order by key limit $1) returning key`,
      [count],
    );
    await client.query('checkpoint');
    return rows.map(({ key }) => Number(key));
  });
}

export async function measureRenewals(
  { storage }: FilledCluster,
  meter: PostgresMeter,
  { runs, rounds }: { readonly runs: number; readonly rounds: number },
): Promise<Table> {
  process.stderr.write(`cluster: renewals of ${whole(runs)} leases …\n`);
  const keys = await startRuns(storage.databaseUrl ?? '', runs);
  const database = await openConfiguredDatabase(storage, fail);
  const before = await meter.read();
  const begin = performance.now();
  for (let round = 0; round < rounds; round++) {
    const renewed = await Promise.all(
      keys.map((key) => database.run(renewRun, { key, runId: 'bench', leaseMs })),
    );
    if (renewed.some((outcome) => outcome !== 'kept')) throw new Error('a lease was not renewed');
  }
  const seconds = (performance.now() - begin) / 1_000;
  const after = await meter.read();
  await database.close();
  const count = rounds * keys.length;
  return {
    title: `Renewals of ${whole(runs)} leases at the store`,
    heads: ['renewals a second', 'CPU of PostgreSQL µs', 'WAL bytes'],
    rows: [
      [
        whole(count / seconds),
        whole((after.us - before.us) / count),
        whole((after.walBytes - before.walBytes) / count),
      ],
    ],
  };
}

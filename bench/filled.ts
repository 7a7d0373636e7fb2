// A small and a large database for all parts that measure the influence of size. They are filled once and measured in
// turns.
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openConfiguredDatabase } from '../src/database.ts';
import type { Database } from '../src/db/transaction.ts';
import { createStorage, type TestStorage } from '../test/support/databases.ts';
import { createMakers, type Makers } from './creations.ts';
import { databaseFile, fillSqlite } from './fill.ts';
import type { Plan } from './plan.ts';
import { whole } from './report.ts';
import { median } from './statistics.ts';
import { fail } from './store.ts';

/** A filled database that is not in use, for a service or for this process. */
export interface Filled {
  readonly count: number;
  readonly storage: TestStorage;
  /** When it was filled. */
  readonly fileBytes: number;
}

/** A filled database that was opened by this process. */
export interface Opened extends Filled {
  readonly database: Database;
  readonly makers: Makers;
}

export interface Both<Of> {
  readonly small: Of;
  readonly large: Of;
}

export type FilledOnce = () => Promise<Both<Filled>>;

async function fill(count: number): Promise<Filled> {
  process.stderr.write(`filling ${whole(count)} conversations …\n`);
  const storage = await createStorage('sqlite');
  await fillSqlite(storage, count);
  return { count, storage, fileBytes: statSync(databaseFile(storage)).size };
}

/** The databases are in the temporary folder of the run and are removed with it. */
export function createFilledOnce({ sizes }: Plan): FilledOnce {
  let both: Promise<Both<Filled>> | undefined;
  async function fillBoth(): Promise<Both<Filled>> {
    return { small: await fill(sizes.small), large: await fill(sizes.large) };
  }
  return () => {
    both ??= fillBoth();
    return both;
  };
}

export async function openFilled(filled: Filled): Promise<Opened> {
  const database = await openConfiguredDatabase(filled.storage, fail);
  return { ...filled, database, makers: await createMakers(database) };
}

/** Reads the file without the store. */
export function readFrom<Out>({ storage }: Filled, look: (connection: DatabaseSync) => Out): Out {
  const connection = new DatabaseSync(databaseFile(storage), { readOnly: true });
  try {
    return look(connection);
  } finally {
    connection.close();
  }
}

/** Returns medians of the probe, after one uncounted turn of each database. */
export async function inTurns(
  probe: (opened: Opened) => Promise<number>,
  rounds: number,
  { small, large }: Both<Opened>,
): Promise<Both<number>> {
  await probe(small);
  await probe(large);
  const times: { small: number[]; large: number[] } = { small: [], large: [] };
  for (let round = 0; round < rounds; round++) {
    times.small.push(await probe(small));
    times.large.push(await probe(large));
  }
  return { small: median(times.small), large: median(times.large) };
}

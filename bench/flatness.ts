// Whether the store stays as fast with a million conversations as with a thousand: both are measured in turns.
import { randomInt } from 'node:crypto';
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { findCreated } from '../src/conversations/store.ts';
import { openConfiguredDatabase } from '../src/database.ts';
import type { Database } from '../src/db/transaction.ts';
import { createPlace, type Place } from '../test/support/databases.ts';
import { createMakers, createMany, type Make, type Makers } from './creations.ts';
import { databaseFile, fillSqlite } from './fill.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type Figure, notMeasured, type PartReport, whole } from './report.ts';
import { median } from './statistics.ts';
import { fail } from './store.ts';

const slowdownTarget = 1.2;

interface Filled {
  readonly count: number;
  readonly place: Place;
  readonly database: Database;
  readonly makers: Makers;
}

type Sizes = Plan['flatness'];
type Probe = (filled: Filled) => Promise<number>;

async function openFilled(count: number): Promise<Filled> {
  process.stderr.write(`filling ${whole(count)} conversations …\n`);
  const place = await createPlace('sqlite');
  await fillSqlite(place, count);
  const database = await openConfiguredDatabase(place, fail);
  return { count, place, database, makers: await createMakers(database) };
}

/** Microseconds a creation, with as many in flight as a busy service has. */
function creationProbe(plan: Plan, choose: (makers: Makers) => Make): Probe {
  const { creations } = plan.flatness;
  return async ({ database, makers }) => {
    const pace = { inFlight: plan.inFlight, more: (begun: number) => begun < creations };
    return 1e6 / (await createMany(database, choose(makers), pace));
  };
}

function someIds({ place, count }: Filled, wanted: number): string[] {
  const connection = new DatabaseSync(databaseFile(place), { readOnly: true });
  const select = connection.prepare('select id from conversations where key = ?');
  const ids = Array.from({ length: wanted }, () => String(select.get(randomInt(1, count + 1))?.['id']));
  connection.close();
  return ids;
}

/** Microseconds a look-up by id, of conversations all over the table. */
function lookupProbe({ lookups }: Sizes): Probe {
  return async (filled) => {
    const { database, makers } = filled;
    const { userId, fingerprint } = makers.random();
    const ids = someIds(filled, lookups);
    const begin = performance.now();
    for (const id of ids) {
      const found = await database.run(findCreated, { userId, fingerprint, id, keyHash: null });
      if (found?.outcome !== 'existing') throw new Error('a stored conversation was not found');
    }
    return ((performance.now() - begin) * 1_000) / lookups;
  };
}

async function inTurns(probe: Probe, rounds: number, small: Filled, large: Filled) {
  await probe(small);
  await probe(large);
  const times: { small: number[]; large: number[] } = { small: [], large: [] };
  for (let round = 0; round < rounds; round++) {
    times.small.push(await probe(small));
    times.large.push(await probe(large));
  }
  return { small: median(times.small), large: median(times.large) };
}

export async function measureFlatness(_lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const sizes = plan.flatness;
  const small = await openFilled(sizes.small);
  const large = await openFilled(sizes.large);
  const largeBytes = statSync(databaseFile(large.place)).size;
  const probes = [
    { name: 'Creation', probe: creationProbe(plan, (m) => m.timeOrdered), limited: true },
    { name: 'Creation, random id of the client', probe: creationProbe(plan, (m) => m.random), limited: true },
    { name: 'Look-up by id', probe: lookupProbe(sizes), limited: false },
  ];
  const rows: string[][] = [];
  const figures: Figure[] = [];
  const two = decimals(2);
  for (const { name, probe, limited } of probes) {
    process.stderr.write(`flatness: ${name} …\n`);
    const times = await inTurns(probe, sizes.rounds, small, large);
    const ratio = times.large / times.small;
    const title = `${name}: time at ${whole(sizes.large)} to time at ${whole(sizes.small)}`;
    const figure = limited ? atMost(title, ratio, slowdownTarget, two) : undefined;
    if (figure !== undefined) figures.push(figure);
    const verdict = [figure?.target ?? '–', figure?.verdict ?? '–'];
    rows.push([name, two(times.small), two(times.large), two(ratio), ...verdict]);
  }
  for (const { database, place } of [small, large]) {
    await database.close();
    await place.remove();
  }
  figures.push(notMeasured('First page of a list', `≤ ${slowdownTarget}`, 'there is no list yet'));
  const heads = [
    'what',
    `µs at ${whole(sizes.small)}`,
    `µs at ${whole(sizes.large)}`,
    'ratio',
    'target',
    'verdict',
  ];
  const note = `The larger file holds ${whole(largeBytes / 1e6)} MB. The measuring itself adds ${whole(sizes.creations * (sizes.rounds + 1) * 2)} conversations to each.`;
  return { tables: [{ title: 'Flatness on SQLite', heads, rows, note }], figures };
}

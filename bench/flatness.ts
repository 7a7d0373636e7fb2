// Measures in turns whether the store is as fast with a million conversations as with a thousand.
import { randomInt } from 'node:crypto';
import { findCreated } from '../src/conversations/create/store.ts';
import { createMany, type Make, type Makers } from './creations.ts';
import { type FilledOnce, inTurns, type Opened, openFilled, readFrom } from './filled.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type Figure, type PartReport, whole } from './report.ts';

export const slowdownTarget = 1.2;

type Probe = (opened: Opened) => Promise<number>;

/** Microseconds per creation, with the concurrency of a busy service. */
function creationProbe(plan: Plan, choose: (makers: Makers) => Make): Probe {
  const { creations } = plan.flatness;
  return async ({ database, makers }) => {
    const pace = { inFlight: plan.inFlight, more: (begun: number) => begun < creations };
    return 1e6 / (await createMany(database, choose(makers), pace));
  };
}

function someIds(opened: Opened, wanted: number): string[] {
  return readFrom(opened, (connection) => {
    const select = connection.prepare('select id from conversations where key = ?');
    return Array.from({ length: wanted }, () => String(select.get(randomInt(1, opened.count + 1))?.['id']));
  });
}

/** Microseconds per lookup by id, for conversations from the whole table. */
function lookupProbe({ lookups }: Plan['flatness']): Probe {
  return async (opened) => {
    const { database, makers } = opened;
    const { userId, fingerprint } = makers.random();
    const ids = someIds(opened, lookups);
    const begin = performance.now();
    for (const id of ids) {
      const found = await database.run(findCreated, { userId, fingerprint, id, keyHash: null });
      if (found?.outcome !== 'existing') throw new Error('a stored conversation was not found');
    }
    return ((performance.now() - begin) * 1_000) / lookups;
  };
}

export async function measureFlatness(
  _lifetime: Lifetime,
  plan: Plan,
  filledOnce: FilledOnce,
): Promise<PartReport> {
  const { sizes } = plan;
  const { rounds, creations } = plan.flatness;
  const filled = await filledOnce();
  const both = { small: await openFilled(filled.small), large: await openFilled(filled.large) };
  const probes = [
    { name: 'Creation', probe: creationProbe(plan, (m) => m.timeOrdered), limited: true },
    { name: 'Creation, random id of the client', probe: creationProbe(plan, (m) => m.random), limited: true },
    { name: 'Look-up by id', probe: lookupProbe(plan.flatness), limited: false },
  ];
  const rows: string[][] = [];
  const figures: Figure[] = [];
  const two = decimals(2);
  for (const { name, probe, limited } of probes) {
    process.stderr.write(`flatness: ${name} …\n`);
    const times = await inTurns(probe, rounds, both);
    const ratio = times.large / times.small;
    const title = `${name}: time at ${whole(sizes.large)} to time at ${whole(sizes.small)}`;
    const figure = limited ? atMost(title, ratio, slowdownTarget, two) : undefined;
    if (figure !== undefined) figures.push(figure);
    const verdict = [figure?.target ?? '–', figure?.verdict ?? '–'];
    rows.push([name, two(times.small), two(times.large), two(ratio), ...verdict]);
  }
  for (const { database } of Object.values(both)) await database.close();
  const heads = [
    'what',
    `µs at ${whole(sizes.small)}`,
    `µs at ${whole(sizes.large)}`,
    'ratio',
    'target',
    'verdict',
  ];
  const note = `The larger file holds ${whole(filled.large.fileBytes / 1e6)} MB. The measuring itself adds ${whole(creations * (rounds + 1) * 2)} conversations to each.`;
  return { tables: [{ title: 'Flatness on SQLite', heads, rows, note }], figures };
}

// Measures whether lists and single conversations are as fast with a million conversations as with a thousand, and what
// a search without results costs.
import type { DatabaseSync } from 'node:sqlite';
import { type ListPosition, listConversations } from '../src/conversations/list/store.ts';
import {
  type Both,
  type Filled,
  type FilledOnce,
  inTurns,
  type Opened,
  openFilled,
  readFrom,
} from './filled.ts';
import { slowdownTarget } from './flatness.ts';
import type { Lifetime } from './lifetime.ts';
import { loadTarget, mediansOf, runLoad } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type Figure, type PartReport, whole } from './report.ts';
import { type Ask, getFull, sendOnce } from './requests.ts';
import { type Service, startService } from './service.ts';
import { median } from './statistics.ts';

const limit = 20;

interface Middle extends ListPosition {
  readonly id: string;
}

interface Outcome {
  readonly name: string;
  readonly times: Both<number>;
  /** Whether a slowdown fails the benchmark. */
  readonly limited: boolean;
}

const get = (path: string): Ask => ({ ...getFull, path });

/** Returns the conversation in the middle of the list. */
function middleOf(filled: Filled): Middle {
  return readFrom(filled, (connection: DatabaseSync) => {
    const row = connection
      .prepare('select id, created_at, key from conversations where key = ?')
      .get(filled.count >> 1);
    return { id: String(row?.['id']), at: Number(row?.['created_at']), key: Number(row?.['key']) };
  });
}

/** Built as in the service. */
function pageId({ at, key }: ListPosition): string {
  return Buffer.from(`${at}.${key}`).toString('base64url');
}

/** Microseconds per page in the store. */
function pageProbe(pages: number, placeOf: (opened: Opened) => ListPosition | null) {
  return async (opened: Opened): Promise<number> => {
    const look = {
      userId: opened.makers.random().userId,
      after: placeOf(opened),
      repository: null,
      trigger: null,
      status: null,
      clientFolder: null,
      pinned: null,
      archived: null,
      unread: null,
      words: null,
      max: limit + 1,
      scannedMax: 0,
    };
    const begin = performance.now();
    for (let page = 0; page < pages; page++) {
      const { rows } = await opened.database.run(listConversations, look);
      if (rows.length <= limit) throw new Error('a page is not full');
    }
    return ((performance.now() - begin) * 1_000) / pages;
  };
}

async function atTheStore(plan: Plan, filled: Both<Filled>): Promise<Outcome[]> {
  process.stderr.write('list at the store …\n');
  const { rounds, pages } = plan.list;
  const both = { small: await openFilled(filled.small), large: await openFilled(filled.large) };
  const first = await inTurns(
    pageProbe(pages, () => null),
    rounds,
    both,
  );
  const middle = await inTurns(pageProbe(pages, middleOf), rounds, both);
  for (const { database } of Object.values(both)) await database.close();
  return [
    { name: 'First page, at the store', times: first, limited: true },
    { name: 'Page in the middle, at the store', times: middle, limited: false },
  ];
}

async function overHttp(
  lifetime: Lifetime,
  plan: Plan,
  services: Both<Service>,
  middles: Both<Middle>,
): Promise<Outcome[]> {
  const asks = [
    { name: 'First page', limited: true, path: () => `/api/conversations?limit=${limit}` },
    {
      name: 'Page in the middle',
      limited: false,
      path: (middle: Middle) => `/api/conversations?limit=${limit}&page_id=${pageId(middle)}`,
    },
    { name: 'One conversation', limited: false, path: ({ id }: Middle) => `/api/conversations/${id}` },
  ];
  const outcomes: Outcome[] = [];
  for (const { name, limited, path } of asks) {
    process.stderr.write(`list over HTTP: ${name} …\n`);
    const targets = [
      loadTarget(services.small, [get(path(middles.small))]),
      loadTarget(services.large, [get(path(middles.large))]),
    ];
    const { roundMs, warmupMs, settleMs } = plan;
    const load = { targets, connections: 1, rounds: plan.pairs * plan.rounds, roundMs, warmupMs, settleMs };
    const [small = [], large = []] = await runLoad(lifetime, load);
    const us = (turns: typeof small) => mediansOf(turns).p50 * 1_000;
    outcomes.push({ name: `${name}, over HTTP`, times: { small: us(small), large: us(large) }, limited });
  }
  return outcomes;
}

/** Milliseconds of a search without results, and the longest wait of another request meanwhile. */
async function search({ url }: Service, searches: number) {
  const nothing = get('/api/conversations?q=words-of-no-title');
  const times: number[] = [];
  const waits: number[] = [];
  for (let count = 0; count < searches; count++) {
    const begin = performance.now();
    const found = sendOnce(url, nothing).then(() => times.push(performance.now() - begin));
    const waited = sendOnce(url, getFull).then(() => waits.push(performance.now() - begin));
    await Promise.all([found, waited]);
  }
  return { tookMs: median(times), waitedMs: Math.max(...waits) };
}

function describe(outcomes: readonly Outcome[], sizes: Plan['sizes']) {
  const one = decimals(1);
  const two = decimals(2);
  const figures: Figure[] = [];
  const rows = outcomes.map(({ name, times, limited }) => {
    const ratio = times.large / times.small;
    const title = `${name}: time at ${whole(sizes.large)} to time at ${whole(sizes.small)}`;
    const figure = limited ? atMost(title, ratio, slowdownTarget, two) : undefined;
    if (figure !== undefined) figures.push(figure);
    return [
      name,
      one(times.small),
      one(times.large),
      two(ratio),
      figure?.target ?? '–',
      figure?.verdict ?? '–',
    ];
  });
  const heads = [
    'what',
    `µs at ${whole(sizes.small)}`,
    `µs at ${whole(sizes.large)}`,
    'ratio',
    'target',
    'verdict',
  ];
  return { heads, rows, figures };
}

export async function measureList(
  lifetime: Lifetime,
  plan: Plan,
  filledOnce: FilledOnce,
): Promise<PartReport> {
  const filled = await filledOnce();
  const store = await atTheStore(plan, filled);
  const services = {
    small: await startService(lifetime, filled.small.storage),
    large: await startService(lifetime, filled.large.storage),
  };
  const middles = { small: middleOf(filled.small), large: middleOf(filled.large) };
  const http = await overHttp(lifetime, plan, services, middles);
  process.stderr.write('list: a search that finds nothing …\n');
  const { tookMs, waitedMs } = await search(services.large, plan.list.searches);
  for (const service of Object.values(services)) await service.stop();

  const { heads, rows, figures } = describe([...store, ...http], plan.sizes);
  const note = `Pages of ${limit}. A search in ${whole(plan.sizes.large)} that finds nothing takes ${whole(tookMs)} ms, for it looks at a bounded number of them; another request of that moment waits up to ${whole(waitedMs)} ms.`;
  return { tables: [{ title: 'Lists on SQLite', heads, rows, note }], figures };
}

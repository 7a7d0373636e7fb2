// Measures whether a user with one conversation gets the next free slot beside a user with a very long queue, and whether
// a claim costs the same however long that queue is.
import { DatabaseSync } from 'node:sqlite';
import { createConversation } from '../src/conversations/create/store.ts';
import { stopConversation } from '../src/conversations/lifecycle/store.ts';
import { claimConversation } from '../src/conversations/run/claimStore.ts';
import { releaseRun } from '../src/conversations/run/store.ts';
import { stopReason } from '../src/conversations/states.ts';
import { openConfiguredDatabase } from '../src/database.ts';
import type { Database, DatabaseKind } from '../src/db/transaction.ts';
import { createIds } from '../src/process/ids.ts';
import { ensureUser } from '../src/users/store.ts';
import { createStorage, databaseKinds, type TestStorage, withPostgres } from '../test/support/databases.ts';
import { createMakers, type Makers } from './creations.ts';
import { databaseFile } from './fill.ts';
import { slowdownTarget } from './flatness.ts';
import type { Lifetime } from './lifetime.ts';
import type { Plan } from './plan.ts';
import { atMost, decimals, type Figure, type PartReport, whole } from './report.ts';
import { median } from './statistics.ts';
import { databaseNames, fail } from './store.ts';

const turnsTarget = 2;
const slots = 20;
/** Unlimited would let the long queue take every slot; so does a limit that it never reaches. */
const userRunsMax = slots;
const leaseMs = 60_000;

interface Queue {
  readonly database: Database;
  readonly makers: Makers;
  close(): Promise<void>;
}

/** Lets `count` conversations of the owner wait, without their events, which a claim does not read. */
async function fillQueue(storage: TestStorage, userId: number, count: number): Promise<void> {
  const numbers =
    storage.databaseUrl === undefined
      ? `(with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n)`
      : `generate_series(1, ${count}) as n (i)`;
  const insert = `insert into conversations (user_id, id, fingerprint, status, title, trigger, request, next_event, created_at, updated_at)
    select ${userId}, 'queued' || i, '', 'STARTING', '', 'gui', '{}', 0, 0, 0 from ${numbers}`;
  if (storage.databaseUrl === undefined) {
    const connection = new DatabaseSync(databaseFile(storage));
    connection.exec(insert);
    connection.close();
    return;
  }
  await withPostgres(storage.databaseUrl, async (client) => {
    // Without the check of the reference to the user, which would take most of the time.
    await client.query('set session_replication_role = replica');
    await client.query(insert);
    await client.query('analyze conversations');
  });
}

async function openQueue(kind: DatabaseKind, count: number): Promise<Queue> {
  process.stderr.write(`fairness: ${whole(count)} conversations wait on ${databaseNames[kind]} …\n`);
  const storage = await createStorage(kind);
  const opened = await openConfiguredDatabase(storage, fail);
  const { id } = await opened.run(ensureUser, 'owner');
  await opened.close();
  await fillQueue(storage, id, count);
  const database = await openConfiguredDatabase(storage, fail);
  const close = async () => {
    await database.close();
    await storage.remove();
  };
  return { database, makers: await createMakers(database), close };
}

interface Held {
  readonly runId: string;
  readonly key: number;
  readonly userId: number;
  readonly id: string;
}

/** A worker at the store: claims, and ends runs after one turn. */
function createWorker(database: Database) {
  const nextId = createIds();
  let usersAfter = 0;
  async function claim(): Promise<Held> {
    const runId = nextId();
    const input = { runId, owner: 'bench', leaseMs, userRunsMax, usersAfter };
    const claimed = await database.run(claimConversation, input);
    if (claimed === undefined) throw new Error('nothing could be claimed');
    usersAfter = claimed.usersAfter;
    return { runId, key: claimed.key, userId: claimed.user_id, id: claimed.id };
  }
  async function end({ runId, key, userId, id }: Held): Promise<void> {
    const at = new Date().toISOString();
    await database.run(stopConversation, { userId, id, reason: stopReason('finished'), events: [], at });
    await database.run(releaseRun, { key, runId, at });
  }
  return { claim, end };
}

/** Microseconds per claim. */
async function timeClaims({ database }: Queue, count: number): Promise<number> {
  const { claim, end } = createWorker(database);
  let ms = 0;
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    const held = await claim();
    ms += performance.now() - begin;
    await end(held);
  }
  return (ms * 1_000) / count;
}

async function compareClaims(small: Queue, large: Queue, { rounds, claims }: Plan['fairness']) {
  const times = { small: [] as number[], large: [] as number[] };
  await timeClaims(small, claims);
  await timeClaims(large, claims);
  for (let round = 0; round < rounds; round++) {
    times.small.push(await timeClaims(small, claims));
    times.large.push(await timeClaims(large, claims));
  }
  return { small: median(times.small), large: median(times.large) };
}

/**
 * All slots have runs of the long queue. Each other user creates one conversation; two join whenever a slot becomes free,
 * so that they also queue behind each other. Returns the longest wait, in turns: as many ends of runs as there are slots.
 */
async function longestWait({ database, makers }: Queue, users: number): Promise<number> {
  const { claim, end } = createWorker(database);
  const running: Held[] = [];
  for (let i = 0; i < slots; i++) running.push(await claim());
  const joined = new Map<number, number>();
  const waits: number[] = [];
  for (let ended = 0; waits.length < users; ended++) {
    for (let i = 0; i < 2 && joined.size + waits.length < users; i++) {
      const { id: userId } = await database.run(ensureUser, `light-${joined.size + waits.length}`);
      await database.run(createConversation, { ...makers.timeOrdered(), userId });
      joined.set(userId, ended);
    }
    await end(running.shift() as Held);
    const held = await claim();
    running.push(held);
    const since = joined.get(held.userId);
    if (since !== undefined) waits.push((ended + 1 - since) / slots);
    joined.delete(held.userId);
  }
  for (const held of running) await end(held);
  return Math.max(...waits);
}

export async function measureFairness(_lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const { sizes, fairness } = plan;
  const rows: string[][] = [];
  const figures: Figure[] = [];
  for (const kind of databaseKinds) {
    const small = await openQueue(kind, sizes.small);
    const large = await openQueue(kind, sizes.large);
    const wait = await longestWait(large, fairness.users);
    const times = await compareClaims(small, large, fairness);
    await small.close();
    await large.close();
    const name = databaseNames[kind];
    const ratio = times.large / times.small;
    figures.push(
      atMost(
        `Longest wait of a user with one conversation, in turns, ${name}`,
        wait,
        turnsTarget,
        decimals(2),
      ),
      atMost(
        `Claim at ${whole(sizes.large)} waiting to claim at ${whole(sizes.small)}, ${name}`,
        ratio,
        slowdownTarget,
        decimals(2),
      ),
    );
    rows.push([name, decimals(2)(wait), whole(times.small), whole(times.large), decimals(2)(ratio)]);
  }
  const heads = [
    'database',
    'longest wait, in turns',
    `µs of a claim, ${whole(sizes.small)} wait`,
    `µs of a claim, ${whole(sizes.large)} wait`,
    'ratio',
  ];
  const note = `One user has the queue, ${fairness.users} others have one conversation each. ${slots} slots; two other users join whenever one becomes free.`;
  return { tables: [{ title: 'Fairness of claims', heads, rows, note }], figures };
}

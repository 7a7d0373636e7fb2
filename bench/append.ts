// Measures how many events per second are appended durably: over HTTP and in the store alone, to many conversations and
// to one.

import { startConversation } from '../src/conversations/lifecycle/store.ts';
import { openConfiguredDatabase } from '../src/database.ts';
import type { Database, DatabaseKind } from '../src/db/transaction.ts';
import { eventText, userMessage } from '../src/events/shapes.ts';
import { createStorage, databaseKinds } from '../test/support/databases.ts';
import { createConversations } from './conversations.ts';
import { createMakers, createMany } from './creations.ts';
import type { Lifetime } from './lifetime.ts';
import { loadTarget, mediansOf, runLoad } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { decimals, type PartReport, type Table, whole } from './report.ts';
import { message, sendMessage } from './requests.ts';
import { startService } from './service.ts';
import { median, spread } from './statistics.ts';
import { databaseNames, fail } from './store.ts';

type Row = readonly string[];

async function overHttp(lifetime: Lifetime, plan: Plan, kind: DatabaseKind): Promise<Row[]> {
  const { connections, rounds } = plan.append;
  const { roundMs, warmupMs, settleMs } = plan;
  process.stderr.write(`append over HTTP, ${databaseNames[kind]} …\n`);
  const storage = await createStorage(kind);
  const service = await startService(lifetime, storage);
  const [one = '', ...many] = await createConversations(service.url, connections + 1);
  const logs = [many, [one]];
  const targets = logs.map((ids) => loadTarget(service, ids.map(sendMessage)));
  const load = { targets, connections, rounds, roundMs, warmupMs, settleMs };
  const turns = await runLoad(lifetime, load);
  await service.stop();
  await storage.remove();
  const two = decimals(2);
  return logs.map(({ length }, i) => {
    const of = turns[i] ?? [];
    const { rate, p50, p99, cpu } = mediansOf(of);
    const range = spread(
      of.map((turn) => turn.requestsPerS),
      whole,
    );
    return [databaseNames[kind], whole(length), whole(rate), range, two(p50), two(p99), decimals(1)(cpu)];
  });
}

interface Log {
  readonly ids: readonly string[];
  readonly rates: number[];
}

interface Store {
  readonly kind: DatabaseKind;
  readonly database: Database;
  readonly userId: number;
  readonly logs: readonly Log[];
  remove(): Promise<void>;
}

async function openStore(kind: DatabaseKind, conversations: number): Promise<Store> {
  const storage = await createStorage(kind);
  const database = await openConfiguredDatabase(storage, fail);
  const { timeOrdered } = await createMakers(database);
  const made = Array.from({ length: conversations + 1 }, timeOrdered);
  const rest = made.values();
  const make = () => rest.next().value ?? timeOrdered();
  await createMany(database, make, { inFlight: 1, more: (begun) => begun < made.length });
  const [one = '', ...many] = made.map(({ id }) => id);
  const remove = async () => {
    await database.close();
    await storage.remove();
  };
  const logs = [many, [one]].map((ids) => ({ ids, rates: [] }));
  return { kind, database, userId: made[0]?.userId ?? 0, logs, remove };
}

/** Appends for a while with limited concurrency. Returns events per second. */
async function appendFor({ database, userId }: Store, ids: readonly string[], inFlight: number, ms: number) {
  const at = new Date().toISOString();
  const text = eventText(userMessage(message, []), at);
  const begin = performance.now();
  let begun = 0;
  async function repeat(): Promise<void> {
    while (performance.now() < begin + ms) {
      const id = ids[begun++ % ids.length] ?? '';
      const outcome = await database.run(startConversation, {
        userId,
        id,
        message: [text],
        waking: [],
        waitingMax: 0,
        at,
      });
      if (outcome === undefined || outcome === 'too_many' || !outcome.changed)
        throw new Error('an event was not appended');
    }
  }
  await Promise.all(Array.from({ length: inFlight }, repeat));
  return (begun * 1_000) / (performance.now() - begin);
}

async function atTheStore(plan: Plan): Promise<Row[]> {
  const { inFlight, roundMs, warmupMs } = plan;
  const { connections, rounds } = plan.append;
  process.stderr.write(`append at the store, ${inFlight} in flight …\n`);
  const stores: Store[] = [];
  for (const kind of databaseKinds) stores.push(await openStore(kind, connections));
  const turns = stores.flatMap((store) => store.logs.map((log) => ({ store, ...log })));
  for (const { store, ids } of turns) await appendFor(store, ids, inFlight, warmupMs);
  for (let round = 0; round < rounds; round++)
    for (const { store, ids, rates } of turns) rates.push(await appendFor(store, ids, inFlight, roundMs));
  for (const store of stores) await store.remove();
  return turns.map(({ store, ids, rates }) => [
    databaseNames[store.kind],
    whole(ids.length),
    whole(median(rates)),
    spread(rates, whole),
  ]);
}

export async function measureAppend(lifetime: Lifetime, plan: Plan): Promise<PartReport> {
  const heads = ['database', 'conversations', 'events/s', 'rounds'];
  const http: Row[] = [];
  for (const kind of databaseKinds) http.push(...(await overHttp(lifetime, plan, kind)));
  const tables: Table[] = [
    {
      title: `Appending over HTTP, ${plan.append.connections} connections`,
      heads: [...heads, 'p50 ms', 'p99 ms', 'CPU µs'],
      rows: http,
    },
    {
      title: `Appending at the store alone, ${plan.inFlight} in flight`,
      heads,
      rows: await atTheStore(plan),
    },
  ];
  return { tables, figures: [] };
}

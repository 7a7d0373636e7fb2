// Interleaves every pair on PostgreSQL, and compares how it ends with how it ends if one comes after the other.
import type pg from 'pg';
import { createConversation } from '../../src/conversations/create/store.ts';
import { stopConversation } from '../../src/conversations/lifecycle/store.ts';
import { claimConversation } from '../../src/conversations/run/claimStore.ts';
import { recordRun } from '../../src/conversations/run/store.ts';
import { stopReason } from '../../src/conversations/states.ts';
import type { AnyTransaction } from '../../src/db/transaction.ts';
import { ensureUser } from '../../src/users/store.ts';
import { someTime as at, newConversation } from '../support/conversations.ts';
import { type Connections, createClient, exploreOrders, runAlone } from './interleave.ts';
import { type Beginning, type Ending, type Pair, pairs, type Setting } from './pairs.ts';

const event = '{"source":"user","action":"message","message":"x","args":{"content":"x"}}';

/** Keys of rows begin here, so that they can be told from other numbers. */
const idsFrom = 1_000;

/** Long ago, so that every deadline has passed. */
const pastMs = 1_000;

async function begin(client: pg.Client, beginning: Beginning): Promise<Setting> {
  const run = <Out>(transaction: AnyTransaction, input: unknown) =>
    runAlone(client, { transaction, input }) as Promise<Out>;
  const tables = [
    'conversations',
    'snapshots',
    'facts',
    'events',
    'deliveries',
    'changes',
    'idempotency',
    'webhooks',
    'users',
    'audit',
  ];
  await client.query(tables.map((table) => `delete from ${table}`).join('; '));
  await client.query(`select setval(pg_get_serial_sequence('conversations', 'key'), ${idsFrom}),
    setval(pg_get_serial_sequence('users', 'id'), ${idsFrom})`);
  const { id: userId } = await run<{ id: number }>(ensureUser, 'ada');
  await client.query("insert into facts (name, value) values ('sealing-key', 'k')");
  const webhookId = 'hook';
  const wanted = JSON.stringify(['conversation.status', 'conversation.event', 'conversation.waiting']);
  await client.query(
    `insert into webhooks (id, user_id, url, events, sealed, description, created_at, format)
     values ($1, $2, 'https://x.test', $3, '', null, 0, 'parley')`,
    [webhookId, userId, wanted],
  );
  const create = async (id: string) =>
    (
      await run<{ key: number }>(
        createConversation,
        newConversation(userId, id, { events: [event], said: 1 }),
      )
    ).key;
  if (beginning === 'nothing') return { userId, webhookId, key: 0 };
  const key = await create('c');
  if (beginning === 'two waiting') await create('d');
  if (beginning === 'reserved')
    await client.query("update conversations set workspace_node = 'here', reserved_for = 'here'");
  if (beginning === 'stopped')
    await run(stopConversation, { userId, id: 'c', reason: stopReason('user'), events: [event], at });
  if (beginning === 'running' || beginning === 'asking') {
    await run(claimConversation, { runId: 'r', owner: 'r', leaseMs: 60_000, userRunsMax: 0 });
    const asks = beginning === 'asking' ? { approvalRequestIndex: 0 } : {};
    const progress = { turn_open: 1, turn_from: 0, heard: 1 };
    await run(recordRun, { key, runId: 'r', step: 1, to: 'RUNNING', events: [], progress: {}, at });
    await run(recordRun, { key, runId: 'r', step: 2, events: [event], progress, at, ...asks });
    await client.query(
      'update conversations set lease_until = lease_until - $1, active_at = active_at - $1',
      [60_000 + pastMs],
    );
  }
  return { userId, webhookId, key };
}

/** Keys and times differ in every run, and are larger than anything that counts. */
function mask(name: string, value: unknown): unknown {
  if (name === 'waited_ms') return 'masked';
  if (typeof value === 'number' && value >= idsFrom) return 'masked';
  return typeof value === 'string' && value.startsWith('msg_') ? 'masked' : value;
}

/** What readers can see afterwards. */
async function look(
  client: pg.Client,
  results: readonly [unknown, unknown],
): Promise<Ending & { text: string }> {
  const { rows: conversations } = await client.query(
    `select key, id, status, run_id, owner, lease_until > extract(epoch from clock_timestamp()) * 1000 as leased, wanted,
       next_event, heard, said, cancelled, turn_open, question, steps, claims, commands, stop_code from conversations order by id`,
  );
  const { rows: events } = await client.query(
    'select id, events.place & 4294967295 as event, json from events join conversations on key = place >> 32 order by 1, 2',
  );
  const { rows: strays } = await client.query(
    'select count(*)::int as count from events where place >> 32 not in (select key from conversations)',
  );
  const { rows: deliveries } = await client.query(
    `select conversation_id, type, event_id, payload, attempts, next_at > created_at + 1000 as leased from deliveries order by id`,
  );
  const { rows: changes } = await client.query('select json from changes order by json');
  const { rows: keys } = await client.query(
    'select key_hash, fingerprint, conversation_id, event_id from idempotency',
  );
  const { rows: snapshots } = await client.query(
    'select id, blob, removed_at is not null as removed from snapshots order by id',
  );
  const masked = (value: unknown) => JSON.stringify(value, mask);
  for (const { id, next_event } of conversations) {
    const ids = events.filter((one) => one.id === id).map(({ event: number }) => Number(number));
    if (ids.length !== next_event || ids.some((number, i) => number !== i))
      throw new Error(`gapless-log: ${id} has the events ${ids.join(', ')} and ends at ${next_event}`);
  }
  const normal = deliveries
    .map((one) => masked(one))
    .sort()
    .join('\n');
  const text = [
    masked(results),
    masked(conversations),
    masked(events),
    masked(strays),
    normal,
    masked(changes),
    masked(keys),
    masked(snapshots),
  ].join('\n');
  return { results, conversations, text };
}

export interface PairReport {
  readonly name: string;
  readonly orders: number;
  /** Orders in which one waited for the other, or was started again. */
  readonly fault: string | undefined;
}

async function explore(connections: Connections, pair: Pair): Promise<PairReport> {
  const { control } = connections;
  const serial = new Set<string>();
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const setting = await begin(control, pair.beginning);
    const calls = pair.calls(setting);
    const results: [unknown, unknown] = [undefined, undefined];
    for (const i of order as (0 | 1)[]) results[i] = await runAlone(control, calls[i]);
    serial.add((await look(control, results)).text);
  }
  let orders = 0;
  let setting: Setting = { userId: 0, webhookId: '', key: 0 };
  const reset = async () => {
    setting = await begin(control, pair.beginning);
  };
  for await (const { results, choices } of exploreOrders(connections, () => pair.calls(setting), reset)) {
    orders += 1;
    const ending = await look(control, results);
    if (serial.has(ending.text) || pair.alsoAllowed?.(ending)) continue;
    return {
      name: pair.name,
      orders,
      fault: `in the order ${choices.join('')} it ends as\n${ending.text}\nand never so one after another:\n${[...serial].join('\n--\n')}`,
    };
  }
  return { name: pair.name, orders, fault: undefined };
}

/** Yields a report for each pair. */
export async function* interleaveAll(url: string, chosen = pairs): AsyncGenerator<PairReport> {
  const clients = Array.from({ length: 3 }, () => createClient(url));
  await Promise.all(clients.map((client) => client.connect()));
  const [control, a, b] = clients as [pg.Client, pg.Client, pg.Client];
  try {
    for (const pair of chosen)
      yield await explore({ control, sides: [a, b] }, pair).catch((error: Error) => ({
        name: pair.name,
        orders: 0,
        fault: error.stack ?? error.message,
      }));
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

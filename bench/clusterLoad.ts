// What the benchmark of a cluster needs: two filled databases with their services, and what each operation costs the
// service and PostgreSQL.
import { createStorage, type TestStorage, withPostgres } from '../test/support/databases.ts';
import { type Amount, fillPostgres, keyOfUser } from './fillPostgres.ts';
import type { Lifetime } from './lifetime.ts';
import type { Target, Turn } from './load.ts';
import { runLoad } from './loadProcess.ts';
import type { Plan } from './plan.ts';
import { familyCpuUs, parentOf } from './processes.ts';
import { whole } from './report.ts';
import { type Ask, getFull, postConversation, sendMessage, sendOnce } from './requests.ts';
import { type Service, startService } from './service.ts';

const secretKey = '07'.repeat(32);
/** The conversation of each user to which messages are sent. */
const logId = 'bench-log';
const inFlight = 16;

export interface FilledCluster {
  readonly amount: Amount;
  readonly storage: TestStorage;
  readonly services: readonly Service[];
  /** The users who send requests, from the whole table. */
  readonly users: readonly number[];
}

export interface Operation {
  readonly name: string;
  readonly ask: (user: number) => Ask;
}

function asUser(ask: Ask, user: number): Ask {
  return { ...ask, headers: { ...ask.headers, 'X-Session-API-Key': keyOfUser(user) } };
}

export const operations: readonly Operation[] = [
  { name: 'GET settings', ask: (user) => asUser(getFull, user) },
  { name: 'POST conversation', ask: (user) => asUser(postConversation, user) },
  {
    name: 'List, first page',
    ask: (user) => asUser({ ...getFull, path: '/api/conversations?limit=20' }, user),
  },
  { name: 'POST message', ask: (user) => asUser(sendMessage(logId), user) },
];

async function createLogs({ url }: Service, users: readonly number[]): Promise<void> {
  const rest = users.values();
  const body = JSON.stringify({ conversation_id: logId, initial_user_msg: 'Please wait for my messages.' });
  async function repeat(): Promise<void> {
    for (const user of rest) await sendOnce(url, asUser({ ...postConversation, body }, user));
  }
  await Promise.all(Array.from({ length: inFlight }, repeat));
}

/** Fills a database and starts this many processes on it. */
export async function startCluster(
  lifetime: Lifetime,
  { activeUsers }: Plan['cluster'],
  amount: Amount,
  processes: number,
): Promise<FilledCluster> {
  process.stderr.write(
    `cluster: filling ${whole(amount.conversations)} conversations of ${whole(amount.users)} users …\n`,
  );
  const storage = await createStorage('postgres');
  await fillPostgres(storage, amount);
  const services: Service[] = [];
  for (let i = 0; i < processes; i++)
    services.push(await startService(lifetime, storage, { PARLEY_SECRET_KEY: secretKey }));
  const every = Math.floor(amount.users / activeUsers);
  const users = Array.from({ length: activeUsers }, (_, i) => i * every);
  const [first] = services;
  if (first !== undefined) await createLogs(first, users);
  return { amount, storage, services, users };
}

/** A turn, and what PostgreSQL did for each of its requests. */
export interface CostlyTurn extends Turn {
  /** CPU time of all its processes; NaN if the system does not provide it. */
  readonly postgresUs: number;
  readonly walBytes: number;
}

export interface PostgresMeter {
  /** CPU time so far in microseconds, and bytes of WAL. */
  read(): Promise<{ readonly us: number; readonly walBytes: number }>;
}

export async function createPostgresMeter(databaseUrl: string): Promise<PostgresMeter> {
  const server = await withPostgres(databaseUrl, async (client) => {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    return parentOf(Number(rows[0]?.pid));
  });
  return {
    read: () =>
      withPostgres(databaseUrl, async (client) => {
        const { rows } = await client.query(
          "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes",
        );
        return { us: familyCpuUs(server), walBytes: Number(rows[0]?.bytes) };
      }),
  };
}

/** Loads the target once, as fast as possible or with `perS` requests a second. */
export async function measureTurn(
  lifetime: Lifetime,
  meter: PostgresMeter,
  { connections, turnMs }: Plan['cluster'],
  target: Target,
  perS?: number,
): Promise<CostlyTurn> {
  const before = await meter.read();
  const load = { targets: [target], connections, rounds: 1, roundMs: turnMs, warmupMs: 0, settleMs: 500 };
  const [[turn] = []] = await runLoad(lifetime, { ...load, ...(perS === undefined ? {} : { perS }) });
  if (turn === undefined) throw new Error('the load has measured nothing');
  const after = await meter.read();
  return {
    ...turn,
    postgresUs: (after.us - before.us) / turn.answers,
    walBytes: (after.walBytes - before.walBytes) / turn.answers,
  };
}

// What SQLite cannot show: missing row locks. Two real transactions are driven alternately, query by query, on two
// connections to PostgreSQL, in every order of their queries or in many of them. A query that waits for a lock lets the
// other transaction go on, until that has committed.
import pg from 'pg';
import { createPostgresQueries } from '../../src/db/queries.ts';
import type { AnyTransaction, Steps } from '../../src/db/transaction.ts';
import { createRandom } from '../chaos/random.ts';

const queries = createPostgresQueries();
const int8Oid = 20;
const pollMs = 2;
/** With more orders than this, some are chosen at random. */
const ordersMax = 48;
const deadlockCode = '40P01';

export interface Call {
  readonly transaction: AnyTransaction;
  readonly input: unknown;
}

export function createClient(url: string): pg.Client {
  return new pg.Client({
    connectionString: url,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === int8Oid ? Number : pg.types.getTypeParser(oid, format),
    } as pg.CustomTypesConfig,
  });
}

/** Runs a transaction to its end on one connection. */
export async function runAlone(client: pg.Client, { transaction, input }: Call): Promise<unknown> {
  const side = createSide(client, { transaction, input });
  while (!side.isDone()) await side.step();
  return side.result();
}

interface Side {
  /** Sends the next query, or COMMIT after the last one. Settles when it is answered. */
  step(): Promise<void>;
  isDone(): boolean;
  result(): unknown;
  readonly client: pg.Client;
}

function createSide(client: pg.Client, { transaction, input }: Call): Side {
  let steps: Steps<unknown> = transaction.steps(queries, input);
  let next:
    | IteratorResult<{ compile(): { sql: string; parameters: readonly unknown[] } }, unknown>
    | undefined;
  let isDone = false;

  /** Restarts after a deadlock, as `db/postgres.ts` does. */
  async function startAgain(): Promise<void> {
    await client.query('rollback');
    steps = transaction.steps(queries, input);
    next = undefined;
  }

  async function step(): Promise<void> {
    try {
      if (next === undefined) {
        await client.query('begin');
        next = steps.next();
      }
      if (next.done) {
        await client.query('commit');
        isDone = true;
        return;
      }
      const { sql, parameters } = next.value.compile();
      const { rows } = await client.query({ text: sql, values: parameters as unknown[] });
      next = steps.next(rows);
    } catch (error) {
      if ((error as { code?: string }).code !== deadlockCode) throw error;
      await startAgain();
    }
  }

  return {
    client,
    step,
    isDone: () => isDone,
    result: () => (next?.done ? next.value : undefined),
  };
}

interface Moving {
  readonly side: Side;
  /** The query that waits for a lock. */
  blocked: Promise<void> | undefined;
}

async function isBlocked(control: pg.Client, { client }: Side): Promise<boolean> {
  const { processID } = client as unknown as { processID: number };
  const { rows } = await control.query('select cardinality(pg_blocking_pids($1)) > 0 as blocked', [
    processID,
  ]);
  return rows[0]?.blocked === true;
}

/** Lets one side take a step. Returns when it is done or waits for a lock of the other side. */
async function move(moving: Moving, control: pg.Client): Promise<void> {
  let isSettled = false;
  const step = (moving.blocked ?? moving.side.step()).finally(() => {
    isSettled = true;
  });
  // Whoever awaits it later gets the error.
  step.catch(() => {});
  for (;;) {
    const pause = new Promise((resolve) => setTimeout(resolve, pollMs));
    await Promise.race([step, pause]);
    if (isSettled) {
      moving.blocked = undefined;
      return step;
    }
    if (await isBlocked(control, moving.side)) {
      moving.blocked = step;
      return;
    }
  }
}

export interface Connections {
  readonly control: pg.Client;
  readonly sides: readonly [pg.Client, pg.Client];
}

export interface Interleaved {
  readonly results: readonly [unknown, unknown];
  /** Which side moved at each point where both could. */
  readonly choices: readonly number[];
}

/** Runs both in the order that `choose` decides, and tells which choices there were. */
async function interleave(
  { control, sides }: Connections,
  calls: readonly [Call, Call],
  choose: (point: number) => number,
): Promise<Interleaved> {
  const both: Moving[] = calls.map((call, i) => ({
    side: createSide(sides[i] as pg.Client, call),
    blocked: undefined,
  }));
  const choices: number[] = [];
  for (;;) {
    const left = both.filter(({ side }) => !side.isDone());
    if (left.length === 0) break;
    const free = left.filter(({ blocked }) => blocked === undefined);
    // Blocked sides go on by themselves once the other has committed; two that block each other are a deadlock, which
    // the server ends.
    if (free.length === 2) {
      const chosen = choose(choices.length);
      choices.push(chosen);
      await move(both[chosen] as Moving, control);
    } else await move((free[0] ?? left[0]) as Moving, control);
  }
  return { results: [both[0]?.side.result(), both[1]?.side.result()], choices };
}

/** Yields runs of every order of choices, depth first; of some of them if there are too many. */
export async function* exploreOrders(
  connections: Connections,
  calls: () => readonly [Call, Call],
  reset: () => Promise<void>,
): AsyncGenerator<Interleaved> {
  const random = createRandom(1);
  const seen = new Set<string>();
  const waiting: number[][] = [[]];
  for (let prefix = waiting.pop(); prefix !== undefined && seen.size < ordersMax; prefix = waiting.pop()) {
    const begun = prefix;
    await reset();
    const run = await interleave(connections, calls(), (point) => begun[point] ?? 0);
    const name = run.choices.join('');
    if (!seen.has(name)) yield run;
    seen.add(name);
    for (let point = begun.length; point < run.choices.length; point++)
      waiting.push([...run.choices.slice(0, point), 1]);
    // A random one next, so that a part of all orders is spread over them.
    const at = Math.floor(random.next() * waiting.length);
    const [picked] = waiting.splice(at, 1);
    if (picked !== undefined) waiting.push(picked);
  }
}

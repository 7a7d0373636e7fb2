// Runs one transaction on one PostgreSQL connection until a deadline. Its errors tell whether the transaction certainly
// did not happen or may have happened.
import type pg from 'pg';
import { ReadTimeout, slowReadMs } from './outcomes.ts';
import { AnswerLate, CommitUnknown, codeOf, DeadlinePassed, faultOf, isRefusal } from './postgresFaults.ts';
import type { Steps } from './transaction.ts';

/** How long to wait for the answer to a COMMIT after the deadline. */
const commitGraceMs = 3_000;

/** One attempt to run a transaction. Times are in terms of `performance.now()`. */
export interface Attempt {
  readonly deadline: number;
  readonly keepsPlans?: boolean;
  /** COMMIT was sent, so the outcome is unknown until the answer arrives. */
  committing: boolean;
}

export async function drive<Out>(client: pg.ClientBase, steps: Steps<Out>): Promise<Out> {
  let step = steps.next();
  while (!step.done) {
    const { sql, parameters } = step.value.compile();
    const { statementName: name } = step.value;
    const values = parameters as unknown[];
    const result = await client.query(
      name === undefined ? { text: sql, values } : { name, text: sql, values },
    );
    step = steps.next(result.rows);
  }
  return step.value;
}

const divisionByZero = '22012';
const dbNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** A plan that was made while a table was small is bad when the table has grown. */
const plansKeptMs = 1_000;
const plansFrom = new WeakMap<pg.ClientBase, number>();

/** Lets the transaction use plans of earlier ones, but none that is older than `plansKeptMs`. */
function keepPlans(client: pg.ClientBase): string {
  const mode = 'set local plan_cache_mode = force_generic_plan; ';
  const now = performance.now();
  if (now < (plansFrom.get(client) ?? 0) + plansKeptMs) return mode;
  plansFrom.set(client, now);
  return `discard plans; ${mode}`;
}

/** Begins the transaction and returns the deadline in the database's time, never later than ours. */
async function begin(client: pg.ClientBase, { deadline, keepsPlans }: Attempt): Promise<number> {
  const text = `begin; ${keepsPlans ? keepPlans(client) : ''}select ${dbNow} as now`;
  const results = (await client.query(text)) as unknown as pg.QueryResult[];
  return Number(results.at(-1)?.rows[0]?.now) + Math.floor(deadline - performance.now());
}

/**
 * Commits unless the deadline has passed. The database checks that itself, in the same message, because a COMMIT that
 * the network delays must not take effect later.
 */
async function commit(client: pg.ClientBase, attempt: Attempt, databaseDeadline: number): Promise<void> {
  if (performance.now() >= attempt.deadline) throw new DeadlinePassed();
  attempt.committing = true;
  let results: pg.QueryResult[];
  try {
    const inTime = `${dbNow} <= ${databaseDeadline}`;
    results = (await client.query(`select 1 / (${inTime})::int; commit`)) as unknown as pg.QueryResult[];
  } catch (error) {
    if (!isRefusal(error)) throw new CommitUnknown(error);
    // If the connection still works, the error really was the answer to the COMMIT.
    await client.query('rollback').catch((lost) => {
      throw new CommitUnknown(lost);
    });
    attempt.committing = false;
    throw codeOf(error) === divisionByZero ? new DeadlinePassed() : error;
  }
  attempt.committing = false;
  // PostgreSQL answers ROLLBACK to a COMMIT if the transaction had failed before.
  if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back');
}

export async function driveWrite<Out>(
  client: pg.ClientBase,
  steps: Steps<Out>,
  attempt: Attempt,
): Promise<Out> {
  const databaseDeadline = await begin(client, attempt);
  let out: Out;
  try {
    out = await drive(client, steps);
  } catch (error) {
    // A lost connection cannot roll back; its transaction ends with it.
    if (isRefusal(error) || faultOf(error) === 'other') await client.query('rollback');
    throw error;
  }
  await commit(client, attempt, databaseDeadline);
  return out;
}

const statementTimedOut = '57014';

/** Ignores sequential scans, because the planner underestimates what comparing long texts costs. */
export async function driveSlowRead<Out>(client: pg.ClientBase, steps: Steps<Out>): Promise<Out> {
  await client.query(
    `begin read only; set local statement_timeout = ${slowReadMs}; set local enable_seqscan = off`,
  );
  try {
    const out = await drive(client, steps);
    await client.query('commit');
    return out;
  } catch (error) {
    if (isRefusal(error) || faultOf(error) === 'other') await client.query('rollback');
    throw codeOf(error) === statementTimedOut ? new ReadTimeout() : error;
  }
}

/** Returns the result of `work`, or rejects at the deadline. The connection must not be reused after that. */
export async function beforeDeadline<Out>(attempt: Attempt, work: Promise<Out>): Promise<Out> {
  const late = Promise.withResolvers<never>();
  const arm = (ms: number, onTime: () => void) => setTimeout(onTime, Math.max(0, ms));
  let timer = arm(attempt.deadline - performance.now(), () => {
    if (!attempt.committing) return late.reject(new AnswerLate());
    timer = arm(commitGraceMs, () => late.reject(new CommitUnknown(new AnswerLate())));
  });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

// Drives one transaction on one PostgreSQL connection, up to a deadline. It keeps apart what certainly did not happen
// from what may have happened.
import type pg from 'pg';
import { AnswerLate, CommitUnknown, codeOf, DeadlinePassed, faultOf, isRefusal } from './postgresFaults.ts';
import type { Steps } from './transaction.ts';

/** How long the answer to a COMMIT is waited for beyond the deadline. */
const commitGraceMs = 3_000;

/** In which a transaction is driven. Times are those of `performance.now()`. */
export interface Attempt {
  readonly deadline: number;
  /** From here on the outcome is unknown until it is answered. */
  committing: boolean;
}

export async function drive<Out>(client: pg.ClientBase, steps: Steps<Out>): Promise<Out> {
  let step = steps.next();
  while (!step.done) {
    const { sql, parameters } = step.value.compile();
    const result = await client.query({ text: sql, values: parameters as unknown[] });
    step = steps.next(result.rows);
  }
  return step.value;
}

const divisionByZero = '22012';
const dbNow = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

/** Begins, and returns the deadline on the clock of the database. It is never later than ours. */
async function begin(client: pg.ClientBase, { deadline }: Attempt): Promise<number> {
  const results = (await client.query(`begin; select ${dbNow} as now`)) as unknown as pg.QueryResult[];
  return Number(results[1]?.rows[0]?.now) + Math.floor(deadline - performance.now());
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
    // A connection that still answers proves that the refusal was the answer.
    await client.query('rollback').catch((lost) => {
      throw new CommitUnknown(lost);
    });
    attempt.committing = false;
    throw codeOf(error) === divisionByZero ? new DeadlinePassed() : error;
  }
  attempt.committing = false;
  // PostgreSQL answers so where the transaction has failed before.
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
    // A connection that is lost is not asked: it would not answer, and its transaction ends with it.
    if (isRefusal(error) || faultOf(error) === 'other') await client.query('rollback');
    throw error;
  }
  await commit(client, attempt, databaseDeadline);
  return out;
}

/** What `work` comes to, or a failure at the deadline. The connection must not be used again then. */
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

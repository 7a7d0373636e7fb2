// How many conversations of a user wait for a worker.
import { sql } from 'kysely';
import { one, type Queries, read, type Steps } from '../db/transaction.ts';

interface Count {
  readonly userId: number;
  /** No more are counted. */
  readonly max: number;
  /** Only those that nobody has taken for so long. */
  readonly waitedMs?: number;
}

export function* countWaitingSteps(q: Queries, { userId, max, waitedMs }: Count): Steps<number> {
  const waiting = q.build
    .selectFrom('conversations')
    .select('key')
    .where('user_id', '=', userId)
    .where('run_id', 'is', null)
    // As the index has it.
    .where(sql<boolean>`status <> 'STOPPED'`)
    .$if(waitedMs !== undefined, (query) =>
      query.where('updated_at', '<=', sql<number>`${q.now} - ${waitedMs}`),
    )
    .limit(max)
    .as('waiting');
  const counted = yield* one(q.build.selectFrom(waiting).select((e) => e.fn.countAll<number>().as('count')));
  return Number(counted?.count ?? 0);
}

export const countWaiting = read('conversations.countWaiting', countWaitingSteps);

export const waitingTransactions = [countWaiting];

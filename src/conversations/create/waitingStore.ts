// Counts the conversations of a user that wait for a worker.
import { sql } from 'kysely';
import { one, type Queries, read, type Steps } from '../../db/transaction.ts';

interface Count {
  readonly userId: number;
  /** The count stops here. */
  readonly max: number;
  /** Counts only conversations that have waited at least this long. */
  readonly waitedMs?: number;
}

export function* countWaitingSteps(q: Queries, { userId, max, waitedMs }: Count): Steps<number> {
  const waiting = q.build
    .selectFrom('conversations')
    .select('key')
    .where('user_id', '=', userId)
    .where('run_id', 'is', null)
    // Written like the condition of the partial index, so that the index is used.
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
